"""A model that is asked twice without an SDK, by the HTTP client that `client` names."""

import asyncio
import json
import os

import reenact


@reenact.tool(effect="read")
def look(city):
    return "fog"


def asked(text):
    body = json.dumps(dict(model="m", messages=[dict(role="user", content=text)]))
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    return os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers


def said(answer):
    return answer["choices"][0]["message"]["content"]


def requests(text):
    import requests

    url, body, headers = asked(text)
    return said(requests.post(url, data=body, headers=headers).json())


def session(text):
    import requests

    url, body, headers = asked(text)
    with requests.Session() as session, session.post(url, data=body, headers=headers, stream=True) as answer:
        return said(json.loads(b"".join(answer.iter_content(16))))


def urllib3(text):
    import urllib3

    url, body, headers = asked(text)
    pool = urllib3.PoolManager()
    return said(pool.request("POST", url, body=body, headers={**headers, "Host": url.split("/")[2]}).json())


def aiohttp(text):
    import aiohttp

    url, body, headers = asked(text)

    async def ask():
        async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
            return said(await answer.json())

    return asyncio.run(ask())


client = requests
print(client("weather?"))
print(client(look("Oslo")))
