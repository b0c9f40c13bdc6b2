"""A WSGI application: questions, a stream, lines read from its body, an error."""

import json
import os
import time
import uuid

import httpx

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.Client()
token = client.get(UPSTREAM + "/token").json()["n"]


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/ask":
        asked = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        found = [client.get(UPSTREAM + f"/ask/{asked['who']}/{n}").json() for n in range(3)]
        assert all(each["path"].split("/")[2] == asked["who"] for each in found)
        print("answering", asked["who"], flush=True)
        start_response("200 OK", [("Content-Type", "application/json")])
        answer = {
            "who": asked["who"],
            "numbers": [each["n"] for each in found],
            "token": token,
            "at": time.time(),
            "id": str(uuid.uuid4()),
            "user": environ.get("HTTP_X_USER"),
            "query": environ["QUERY_STRING"],
        }
        return [json.dumps(answer).encode()]
    if path == "/stream":

        def pieces():
            with client.stream("GET", UPSTREAM + "/stream") as response:
                for piece in response.iter_raw(6):
                    yield b"data: " + piece + b"\n"

        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return pieces()
    if path == "/lines":
        first = environ["wsgi.input"].readline()
        lines = first, len(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]) - len(first)))
        write = start_response("200 OK", [("Content-Type", "text/plain")])
        write(repr(lines).encode())
        return ()
    if path == "/broken":
        raise ValueError(f"broken at {client.get(UPSTREAM + '/broken').json()['n']}")
    start_response("404 Not Found", [("Content-Type", "text/plain")])
    return [b"nothing here"]
