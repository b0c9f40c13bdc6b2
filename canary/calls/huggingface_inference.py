"""The inference client of huggingface_hub."""

import os

from huggingface_hub import InferenceClient

client = InferenceClient(base_url=os.environ["WORLD"], api_key="scripted")
print(client.chat_completion([{"role": "user", "content": "hello"}]).choices[0].message.content)
