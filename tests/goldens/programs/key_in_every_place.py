"""A model that is asked in four ways, with its key in headers, cookies and parameters."""

import http.client
import json
import os
import urllib.parse

import httpx
from openai import OpenAI

KEY = os.environ.get("OPENAI_API_KEY", "")
ASKED = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "hello"}]}
BASE = os.environ["OPENAI_BASE_URL"]
HEADERS = {"Authorization": f"Bearer {KEY}", "X-Api-Key": KEY, "Cookie": f"session={KEY}"}


def by_hand():
    parts = urllib.parse.urlsplit(BASE)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("POST", f"{parts.path}/chat/completions", json.dumps(ASKED), HEADERS)
    return json.load(connection.getresponse())


print(by_hand()["choices"][0]["message"]["content"])
asked = httpx.post(f"{BASE}/chat/completions", json=ASKED, headers=HEADERS, params={"api_key": KEY})
print(asked.json()["choices"][0]["message"]["content"])
client = OpenAI(api_key=KEY or "none")
print(client.chat.completions.create(**ASKED).choices[0].message.content)
for chunk in client.chat.completions.create(**ASKED, stream=True):
    print(end=(chunk.choices[0].delta.content if chunk.choices else "") or "")
