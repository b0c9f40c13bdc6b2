"""Reads the beginning of two streams, and leaves both open until the process ends."""

import os

import httpx

client = httpx.Client()
left = []


def begin(question: str) -> str:
    """The first parts of an answer."""
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}
    request = client.build_request("POST", os.environ["WORLD"] + "/v1/chat/completions", json=asked)
    response = client.send(request, stream=True)
    parts = response.iter_raw()
    left.append((response, parts))
    return b"".join(next(parts) for _ in range(int(os.environ.get("PARTS", "2")))).decode()


print(begin("what is it?"))
print(begin("and why?"))
