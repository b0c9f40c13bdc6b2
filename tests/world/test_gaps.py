"""Proves that contact which no seam records is named once for each kind and place, and refused by a replay."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from .conftest import Place


class Counter:
    """A server on loopback that answers one line to each connection and counts them."""

    def __init__(self) -> None:
        self.contacts = 0
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=run) for run in (self._serve, self._listen)]
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                if connection.recv(100) == b"stop":
                    return
                self.contacts += 1
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")

    def _listen(self) -> None:
        while self.udp.recv(100) != b"stop":
            self.contacts += 1

    def ports(self) -> tuple[int, int]:
        """Where it listens: TCP and UDP."""
        return self.tcp.getsockname()[1], self.udp.getsockname()[1]

    def close(self) -> None:
        """Stop both threads."""
        with socket.create_connection(self.tcp.getsockname()) as last:
            last.sendall(b"stop")
        self.udp.sendto(b"stop", self.udp.getsockname())
        for thread in self._threads:
            thread.join(10)
        self.tcp.close()
        self.udp.close()


@pytest.fixture
def counter() -> Iterator[Counter]:
    """A counting server."""
    server = Counter()
    yield server
    server.close()


RAW = """
import socket, sys
for _ in range(3):
    with socket.create_connection(("127.0.0.1", {tcp})) as s:
        s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        while s.recv(100):
            pass
print("done")
"""
STREAMS = """
import asyncio
async def main():
    reader, writer = await asyncio.open_connection("127.0.0.1", {tcp})
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    await reader.read()
    writer.close()
    await writer.wait_closed()
asyncio.run(main())
print("done")
"""
DATAGRAM = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.sendto(b"hello", ("127.0.0.1", {udp}))
print("done")
"""
IN_A_THREAD = """
import socket, threading
def beat():
    socket.create_connection(("127.0.0.1", {tcp})).close()
thread = threading.Thread(target=beat)
thread.start()
thread.join()
print("done")
"""
LOOK_UP = """
import socket
socket.gethostbyname("localhost")
print("done")
"""


@pytest.mark.parametrize(
    ("program", "what", "where", "contacts"),
    [
        (RAW, "connection", "agent.py:4 (127.0.0.1:{tcp})", 3),
        (STREAMS, "connection", "agent.py:4 (127.0.0.1:{tcp})", 1),
        (DATAGRAM, "datagram", "agent.py:4 (127.0.0.1:{udp})", 1),
        (IN_A_THREAD, "connection", "agent.py:4 (127.0.0.1:{tcp})", 1),
        (LOOK_UP, "name look-up", "agent.py:3 (localhost)", 0),
    ],
    ids=["socket", "asyncio", "datagram", "thread", "look-up"],
)
def test_sockets_are_named_once_and_refused(
    world: Place, counter: Counter, program: str, what: str, where: str, contacts: int
) -> None:
    tcp, udp = counter.ports()
    where = where.format(tcp=tcp, udp=udp)
    world.record(program.format(tcp=tcp, udp=udp))
    seen = counter.contacts
    if program is not IN_A_THREAD and program is not DATAGRAM:
        assert seen == contacts
    assert f"gap  {what} at {where}, 1 time" in world.shown()
    assert f"{what} at {where} is not in the recording" in world.kit()
    replayed = world.replay()
    assert replayed.returncode == 5, replayed.stderr
    assert f"{what} to " in replayed.stderr and f"at {where.split()[0]}" in replayed.stderr
    assert "done" not in replayed.stdout
    assert counter.contacts <= contacts


def test_an_agent_that_swallows_everything_is_refused_all_the_same(world: Place, counter: Counter) -> None:
    tcp, _ = counter.ports()
    world.record(
        f"""
        import socket
        try:
            socket.create_connection(("127.0.0.1", {tcp})).close()
        except BaseException:
            pass
        print("done")
        """
    )
    assert world.replay().returncode == 5


@pytest.mark.skipif(sys.platform == "win32", reason="no exec in place on Windows")
def test_a_program_that_becomes_another_is_named(world: Place) -> None:
    world.record('import os\nos.execvp("echo", ["echo", "from echo"])\n')
    assert "gap  process at agent.py:2 (echo), 1 time" in world.shown()
    replayed = world.replay()
    assert replayed.returncode == 5 and "process echo at agent.py:2" in replayed.stderr
    assert "from echo" not in replayed.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="names the C library of a POSIX system")
def test_native_libraries_are_named_and_declared_as_not_visible(world: Place) -> None:
    world.record("import ctypes\nprint(ctypes.CDLL('libc.so.6' if __import__('sys').platform == 'linux' else None))\n")
    if sys.platform == "linux":
        assert "gap  native library at agent.py:2 (libc.so.6, what it does is not visible), 1 time" in world.shown()


def test_a_client_in_c_is_named_and_refused(world: Place) -> None:
    world.write("", "curl_cffi/__init__.py")
    world.write("class Curl:\n    def perform(self):\n        print('connected')\n", "curl_cffi/curl.py")
    world.record("from curl_cffi.curl import Curl\nCurl().perform()\n")
    assert "gap  native connection at agent.py:2 (curl_cffi), 1 time" in world.shown()
    replayed = world.replay()
    assert replayed.returncode == 5 and "native connection to curl_cffi at agent.py:2" in replayed.stderr
    assert "connected" not in replayed.stdout


def test_what_seams_record_and_what_tools_do_is_no_gap(world: Place, counter: Counter) -> None:
    tcp, _ = counter.ports()
    recorded = world.record(
        f"""
        import asyncio, socket, subprocess, sys, urllib.request
        import aiohttp, httpx, requests
        import reenact
        url = "http://127.0.0.1:{tcp}/"
        @reenact.tool
        def raw():
            with socket.create_connection(("localhost", {tcp})) as s:
                s.sendall(b"GET")
                return s.recv(100).decode()
        async def both():
            async with httpx.AsyncClient() as client:
                print((await client.get(url)).text)
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                print(await answer.text())
            process = await asyncio.create_subprocess_exec("sh", "-c", "true", stdout=-1, stderr=-1)
            await process.communicate()
        print(raw(), urllib.request.urlopen(url).read(), httpx.get(url).text, requests.get(url).text)
        asyncio.run(both())
        print(subprocess.run(["sh", "-c", "echo x"], capture_output=True).stdout)
        """
    )
    assert counter.contacts == 6
    assert "gap " not in world.shown()
    world.exact(recorded)
    assert counter.contacts == 6


def test_a_recorded_block_names_them_too(world: Place, counter: Counter) -> None:
    tcp, _ = counter.ports()
    world.write(
        f"""
        import socket
        import reenact
        def contact():
            socket.create_connection(("127.0.0.1", {tcp})).close()
        contact()
        with reenact.record():
            contact()
        contact()
        """
    )
    done = world.run(sys.executable, "agent.py")
    assert done.returncode == 0, done.stderr
    assert f"gap  connection at agent.py:5 (127.0.0.1:{tcp}), 1 time" in world.shown()


def test_what_is_only_named_does_not_count_as_captured(world: Place) -> None:
    world.write("import psycopg2, curl_cffi.curl\n")
    found = world.reenact("doctor").stdout
    captured, _, missing = found.partition("not captured")
    assert "psycopg2" in missing and "curl_cffi" in missing, found
    assert "psycopg2" not in captured and "curl_cffi" not in captured
