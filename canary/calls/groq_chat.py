"""Groq chat completions."""

import os

from groq import Groq

client = Groq(api_key="scripted", base_url=os.environ["WORLD"])
print(
    client.chat.completions.create(model="llama-x", messages=[{"role": "user", "content": "hello"}])
    .choices[0]
    .message.content
)
