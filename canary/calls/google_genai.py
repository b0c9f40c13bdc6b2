"""Gemini, at once and streamed."""

import os

from google import genai

client = genai.Client(api_key="scripted", http_options={"base_url": os.environ["WORLD"]})
print(client.models.generate_content(model="gemini-x", contents="hello").text)
print(len(list(client.models.generate_content_stream(model="gemini-x", contents="hello"))))
