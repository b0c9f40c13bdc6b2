"""A WSGI application that reads its body in every way there is."""

import io
import json


def application(environ, start_response):
    body, path = environ["wsgi.input"], environ["PATH_INFO"]
    if path == "/ten":
        read = [body.read(10)]
    elif path == "/none":
        read = []
    elif path == "/line":
        read = [body.readline(), next(iter(body))]
    elif path == "/into":
        buffer = bytearray(4)
        read = [body.peek()[:2], body.read1(3), buffer[: body.readinto(buffer)], body.readline(2), body.readline(9)]
    elif path == "/short":
        read = [body.read(1000), body.read(1000)]
    elif path == "/pieces":
        read = list(iter(lambda: body.read(4), b""))
    elif path == "/text":
        text = io.TextIOWrapper(body)
        read = [text.readline().encode()]
        text.detach()
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([bytes(each).decode() for each in read]).encode()]
