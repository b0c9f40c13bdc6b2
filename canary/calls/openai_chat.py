"""OpenAI chat completions, at once and streamed."""

from openai import OpenAI

client = OpenAI()
print(
    client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hello"}])
    .choices[0]
    .message.content
)
print(
    len(
        list(
            client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hello"}], stream=True)
        )
    )
)
