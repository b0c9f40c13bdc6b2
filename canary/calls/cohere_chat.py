"""Cohere chat, version 2, at once and streamed."""

import os

from cohere import ClientV2

client = ClientV2(api_key="scripted", base_url=os.environ["WORLD"])
print(client.chat(model="command-x", messages=[{"role": "user", "content": "hello"}]).message.content)
print(len(list(client.chat_stream(model="command-x", messages=[{"role": "user", "content": "hello"}]))))
