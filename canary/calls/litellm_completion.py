"""A completion through litellm."""

import litellm

print(
    litellm.completion(model="openai/gpt-x", messages=[{"role": "user", "content": "hello"}]).choices[0].message.content
)
