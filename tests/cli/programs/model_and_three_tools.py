"""A model over HTTP, two looks and a payment, and a failure if its argument says so."""

import json
import os
import sys
import urllib.request

import reenact


@reenact.tool(effect="read")
def look(city):
    return {"city": city, "docs": []}


@reenact.tool
def pay(amount):
    return amount


def main():
    body = json.dumps({"model": "gpt-5.4", "messages": [{"role": "user", "content": "where is it?"}]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    head = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    asked = urllib.request.Request(url, body, head, method="POST")
    print(urllib.request.urlopen(asked).status, look("Oslo"), look("Rome"), pay(3))
    if "fail" in sys.argv:
        raise RuntimeError("the payment was declined")


if __name__ == "__main__":
    main()
