"""Streams of requests of the blocking API: from lists, a queue, and iterators that ask, go on without end, or fail."""

import queue
import time

import grpc
from orders import TARGET, methods

channel = grpc.insecure_channel(TARGET)
unary, down, up, both = methods(channel)
print(up(iter([b"a", b"", b"c"])), up.with_call(iter([b"d"]))[1].code())
asked = queue.Queue()
talk = both(iter(asked.get, None))
for word in (b"one", b"two", b"three"):
    asked.put(word)
    print(next(talk))
asked.put(None)
print(list(talk), talk.code())


def endless():
    while True:
        yield b"enough"


def asking():  # the iterator's own calls and clock are part of the scene
    yield unary(b"inside")
    yield b" %d" % time.time_ns()


def broken():
    yield b"a"
    raise KeyError("mine")


print(up(endless()), up(asking()))
try:
    up(broken())
except grpc.RpcError as error:
    print(error.code(), error.details())
