"""Mistral chat, at once and on the async side."""

import asyncio
import os

from mistralai.client import Mistral

client = Mistral(api_key="scripted", server_url=os.environ["WORLD"])
print(
    client.chat.complete(model="mistral-x", messages=[{"role": "user", "content": "hello"}]).choices[0].message.content
)
said = asyncio.run(client.chat.complete_async(model="mistral-x", messages=[{"role": "user", "content": "hello"}]))
print(said.choices[0].message.content)
