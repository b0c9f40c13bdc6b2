"""Proves that connections of the threading client of ``websockets`` replay exactly without their server."""

from __future__ import annotations

from tests.programs import read_program
from tests.websockets.conftest import Agent

OPENING = """
import os, threading
from websockets.sync.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
WHERE = os.environ["WHERE"]
"""


def test_messages_ends_and_errors(agent: Agent) -> None:
    printed = agent.same(
        OPENING
        + """
with connect(WHERE, legacy=True, subprotocols=["realtime"], ping_interval=0.05) as ws:
    print(ws.subprotocol, ws.response.status_code, ws.remote_address[0], ws.id)
    for text in ("hello", b"abc", "bytes"):
        ws.send(text)
        print(ws.recv())
    ws.send("slow")
    try:
        ws.recv(timeout=0.02)
    except TimeoutError:
        print("nothing yet")
    print(ws.recv())
    ws.send("parts")
    print(list(ws.recv_streaming()))
    print(ws.ping().wait(5), ws.state.name)
    ws.send("several")
    ws.send("close")
    try:
        for message in ws:
            print("heard", message)
    except ConnectionClosed as closed:
        print(type(closed).__name__, closed.rcvd.code, closed.rcvd.reason, closed)
print(ws.state.name, ws.close_code, ws.close_reason)
try:
    connect(WHERE + "/refused", legacy=True)
except InvalidStatus as error:
    print(error.response.status_code, error.response.body, error)
try:
    connect("ws://127.0.0.1:9/", legacy=True)
except OSError as error:
    print(type(error).__name__)
"""
    )
    assert "hello 0." in printed and "b'cba'\nb'\\x00\\x01\\x02\\x03\\x04'\nnothing yet\nslow 0." in printed
    assert "['one ', 'two ', '0." in printed
    assert "True OPEN\nheard 0 0." in printed
    assert "ConnectionClosedError 4001 that is enough received 4001 (private use) that is enough" in printed
    assert "CLOSED 4001 that is enough\n401 bytearray(b'who are you?\\n')" in printed
    assert printed.endswith("ConnectionRefusedError\n")


def test_one_thread_hears_while_another_speaks(agent: Agent) -> None:
    printed = agent.same(read_program("websockets/threads_that_hear_and_speak.py"))
    for name in ("one", "two"):
        assert printed.count(f"{name} heard ") == 6
        assert f"{name} 4001\n" in printed
