"""Ollama's own chat, at once and streamed."""

import os

from ollama import Client

client = Client(os.environ["WORLD"])
print(client.chat(model="llama-x", messages=[{"role": "user", "content": "hello"}]).message.content)
print(len(list(client.chat(model="llama-x", messages=[{"role": "user", "content": "hello"}], stream=True))))
