"""A server of wsgiref that handles one request at a time, and asks between them."""

import json
import os
import signal
import sys
import threading
import urllib.request
from wsgiref.simple_server import make_server

rounds = 0


def ask(what):
    with urllib.request.urlopen(f"{os.environ['UPSTREAM']}/{what}") as answer:
        return json.load(answer)["n"]


def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"round {rounds}, {between} before it, {ask('inside')} in it".encode()]


with make_server("127.0.0.1", 0, app) as server:
    server.timeout = 0.05
    between = ask("between")
    server.handle_request()  # nobody asks yet
    print(f"listens on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    server.timeout = None
    try:
        while True:
            rounds += 1
            between = ask("between")
            if rounds == 3:
                threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            server.handle_request()
            print("round", rounds, "is over", flush=True)
    except KeyboardInterrupt:
        print("interrupted", ask("last"), flush=True)
