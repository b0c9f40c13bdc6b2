"""A signal to a process that the run has started is answered from the recording, whoever has its number today."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from . import refusing
from .conftest import Agent, permitted

CHILD = """
import os, signal, sys

def heard(number, frame):
    with open("heard", "a") as file:
        file.write(signal.Signals(number).name + "\\n")
    os.write(1, b"heard\\n")

signal.signal(signal.SIGUSR1, heard)
signal.signal(signal.SIGUSR2, heard)
print("ready", flush=True)
while True:
    signal.pause()
"""
AGENT = """
    import os, signal, subprocess, sys
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    child = subprocess.Popen([sys.executable, "child.py"], start_new_session=True, **streams)
    print(child.stdout.readline())
    os.kill(child.pid, signal.SIGUSR1)
    print(child.stdout.readline())
    print("number", child.pid, flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize("system", ["within", "without"])
def test_a_recorded_number_is_never_sent_a_signal(agent: Agent, system: str) -> None:
    if system == "within" and not permitted():
        pytest.skip("this system does not permit namespaces")
    if not refusing.supported():
        pytest.skip("nothing can be refused here")
    agent.write(AGENT)
    (agent.watched / "child.py").write_text(CHILD)
    number = int(agent.record().stdout.split()[-1])
    try:
        heard = agent.watched / "heard"
        assert heard.read_text().split() == ["SIGUSR1"]  # it is still there, under the number that was recorded
        around = [sys.executable, str(Path(refusing.__file__))] if system == "without" else []
        ended = agent.run(*around, sys.executable, "-m", "reenact", "replay", "@", "--json")
        report = json.loads(ended.stdout)
        assert report["verdict"] == "exact" and not report["refused"], report
        os.kill(number, signal.SIGUSR2)
        until = time.monotonic() + 30
        while "SIGUSR2" not in heard.read_text() and time.monotonic() < until:
            os.sched_yield()
        assert heard.read_text().split() == ["SIGUSR1", "SIGUSR2"]
    finally:
        os.kill(number, signal.SIGKILL)
