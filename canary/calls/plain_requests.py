"""A page and a form through requests."""

import os

import requests

print(requests.get(f"{os.environ['WORLD']}/page", timeout=30).json())
print(requests.post(f"{os.environ['WORLD']}/page", json={"a": 1}, timeout=30).json())
