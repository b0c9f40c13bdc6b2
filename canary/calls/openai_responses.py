"""OpenAI responses, at once and streamed."""

from openai import OpenAI

client = OpenAI()
print(client.responses.create(model="gpt-x", input="hello").output_text)
print(len(list(client.responses.create(model="gpt-x", input="hello", stream=True))))
