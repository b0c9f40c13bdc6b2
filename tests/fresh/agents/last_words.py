"""How programs end: atexit handlers, a finally, a last line without end, sys.exit(3) in a loop (openai)."""

import atexit
import contextlib
import sys
import time

from openai import OpenAI

client = OpenAI()


@atexit.register
def farewell() -> None:
    print("atexit at", time.time(), "exit", flush=True)
    print("and to stderr", file=sys.stderr)


@contextlib.contextmanager
def timed(what: str):
    began = time.perf_counter()
    try:
        yield
    finally:
        print(f"{what}: {(time.perf_counter() - began) * 1e6:.1f} us")


with timed("whole"):
    for number in range(3):
        with timed(f"call {number}"):
            reply = client.responses.create(model="gpt-4o", input=f"number {number}")
        print(reply.output_text)
        if number == 2:
            sys.stdout.write("no newline here: ")
            sys.exit(3)
