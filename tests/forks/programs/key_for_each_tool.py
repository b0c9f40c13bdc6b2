"""A model that is asked within two tools, with a key of its own in each."""

import os

import httpx

import reenact


def ask(text, key):
    request = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = {"authorization": "Bearer " + os.environ[key]}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/v1/chat/completions", json=request, headers=headers)
    return answer.json()["choices"][0]["message"]["content"]


@reenact.tool(effect="read")
def look(text):
    return ask(text, "SEARCH_API_KEY")


@reenact.tool
def mail(text):
    return ask(text, "MAIL_API_KEY")


@reenact.tool(effect="read")
def first():
    return "a"


mail(look(first()))
