"""Each thing in which a first user's program once differed in a replay, as a program of a few lines."""

from __future__ import annotations

import signal
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .desk import Desk, Ended, unlike

PROGRAMS = {
    "the age of a line of the log": """
        import logging, time
        logging.basicConfig(level="INFO", format="%(relativeCreated)d %(asctime)s %(message)s")
        time.sleep(0.01)
        logging.info("hello")
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_replays_exactly(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(PROGRAMS[name]))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0, recorded.err
    assert unlike(recorded, desk.replay()) == ""


STOPPED = {
    "in a tool": (
        "import os, signal, time, reenact",
        "reenact.tool(effect='read')(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60)))()",
    ),
    "requests": ("import requests", "requests.get(URL)"),
    "httpx": ("import httpx", "httpx.get(URL)"),
    "urllib": ("import urllib.request", "urllib.request.urlopen(URL)"),
    "openai": ("import openai", "openai.OpenAI(base_url=URL, api_key='k', max_retries=0).models.list()"),
}


@pytest.fixture
def silent() -> Iterator[tuple[str, threading.Event]]:
    """A server that takes a request and then never answers."""
    asked, over = threading.Event(), threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

        def do_GET(self) -> None:
            asked.set()
            over.wait(60)

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        over.set()
        server.shutdown()


@pytest.mark.parametrize("name", STOPPED)
def test_ctrl_c_where_the_program_waits_ends_it_again(
    tmp_path: Path, name: str, silent: tuple[str, threading.Event]
) -> None:
    desk = Desk(tmp_path)
    url, asked = silent
    first, call = STOPPED[name]
    agent = f"{first}\nURL = {url!r}\nprint('before', flush=True)\ntry:\n    {call}\nfinally:\n    print('after')\n"
    (desk.folder / "agent.py").write_text(agent)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = ["reenact", "record", "--", "python", "agent.py"]
    with subprocess.Popen(command, cwd=desk.folder, env=desk.environment, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"before\n"
        out = b"before\n"
        if name != "in a tool":
            assert asked.wait(30)
            process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=30)
    recorded = Ended(process.returncode, out + rest, err)
    assert recorded.code == -signal.SIGINT and b"after" in recorded.out
    assert unlike(recorded, desk.replay()) == ""
