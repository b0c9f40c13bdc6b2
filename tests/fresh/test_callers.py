"""Proves that a program which accepts connections by itself is named, and that its replay ends instead of waiting."""

from __future__ import annotations

import socket
import subprocess
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reenact.seams import accepted_connections
from tests.desk import Desk, Ended

TOOL = """
    import http.server, os, socket, sys, threading, urllib.request
    import reenact

    @reenact.tool(effect="read")
    def double(number):
        return 2 * number

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"%d" % double(len(self.path))
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            threading.Thread(target=self.server.shutdown).start()

        def log_message(self, *what):
            pass
"""
SERVERS = {
    "a plain socket": """
        listening = socket.create_server(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        connection, peer = listening.accept()
        connection.sendall(b"%d" % double(len(connection.recv(100))))
        connection.close()
        print("done")
    """,
    "http.server": """
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
        print("done")
    """,
}


def _served(desk: Desk) -> Ended:
    """Record the program while somebody else connects once, to the port that its first line names."""
    command = ["reenact", "record", "--", "python", "agent.py"]
    with subprocess.Popen(
        command, cwd=desk.folder, env=desk.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        with socket.create_connection(("127.0.0.1", int(first)), timeout=30) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert connection.recv(1000)
        rest, err = process.communicate(timeout=30)
    return Ended(process.returncode, first + rest, err)


@pytest.mark.parametrize("name", SERVERS)
def test_a_program_that_others_connect_to_is_named_and_its_replay_says_so(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(TOOL) + textwrap.dedent(SERVERS[name]))
    recorded = _served(desk)
    assert (recorded.code, recorded.out.endswith(b"done\n")) == (0, True), recorded.err
    shown = desk.run("reenact", "show", "@")
    assert b"accepted connection at agent.py:" in shown.out, shown.out
    replayed = desk.replay()
    assert replayed.code == 3, replayed.err
    said = [line for line in replayed.said if "the program waits at agent.py:" in line]
    assert said and "for a connection" in said[0], replayed.err


def test_a_program_that_connects_to_itself_has_no_such_gap(tmp_path: Path) -> None:
    """A scripted server in a thread: its other end is recorded, and answers the replay."""
    desk = Desk(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = f"""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(urllib.request.urlopen("http://127.0.0.1:{port}/").read())
    """
    (desk.folder / "agent.py").write_text(textwrap.dedent(TOOL) + textwrap.dedent(own))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0 and b"2" in recorded.out, recorded.err
    assert b"accepted" not in desk.run("reenact", "show", "@").out


def test_a_place_that_is_named_costs_a_server_no_further_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every descriptor of the process is looked at to find out whose a connection is: thousands, in a busy server."""
    looks: list[object] = []
    monkeypatch.setattr(accepted_connections, "_made_here", lambda *accepted: looks.append(accepted))
    named: set[str] = set()
    lane: Any = SimpleNamespace(session=SimpleNamespace(fault=lambda error: True))
    for _ in range(3):
        accepted_connections._look(
            lane,
            (socket.socket(), ("192.0.2.1", 1)),
            lambda session, what, place, target: named.add(place),
            lambda session, what, place: place in named,
        )
    assert len(looks) == len(named) == 1


LOCKED = """
    import fcntl, select, socket, subprocess, sys, threading

    held = open("held.lock", "w")
    fcntl.lockf(held, fcntl.LOCK_EX)
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller = threading.Thread(target=lambda: socket.create_connection(server.getsockname()).close())
        caller.start()
        server.accept()[0].close()
        caller.join()
    if sys.platform != "win32":
        select.select([held], [], [], 1)
    other = "import fcntl; fcntl.lockf(open('held.lock', 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    ended = subprocess.run([sys.executable, "-c", other], stderr=subprocess.DEVNULL)
    print("held" if ended.returncode else "lost")
"""


def test_the_locks_of_a_program_outlive_a_look_at_its_descriptors(tmp_path: Path) -> None:
    """``fcntl`` locks, SQLite's among them, are lost when any descriptor of their file is closed, so none is copied."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(LOCKED))
    assert desk.run("python", "agent.py").out == b"held\n"
    assert desk.run("reenact", "record", "--", "python", "agent.py").out == b"held\n"
