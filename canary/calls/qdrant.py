"""A vector store over REST."""

import os

from qdrant_client import QdrantClient

print(QdrantClient(url=os.environ["WORLD"], port=None, check_compatibility=False).get_collections())
