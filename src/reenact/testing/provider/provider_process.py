"""The scripted provider in a process of its own, as a program under test would meet a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from reenact.testing.provider.script import CONTROL
from reenact.testing.provider.server import environment


class ProviderProcess:
    """Starts ``python -m reenact.testing.provider`` and stops it at the end of the ``with`` block.

    The process also ends by itself when this one dies: its standard input closes then.

    Args:
        script: Python file that defines ``SCRIPT``; None lets models improvise.
        day: The world's first day.
        python: Interpreter to use.
    """

    def __init__(self, script: str | Path | None = None, *, day: int = 1, python: str = sys.executable) -> None:
        self._command = [python, "-m", "reenact.testing.provider", "--day", str(day)]
        if script is not None:
            self._command += ["--script", str(script)]
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Id of the process while it runs; None before and after."""
        return None if self._process is None else self._process.pid

    @property
    def counts(self) -> dict[str, int]:
        """The number of requests, by path."""
        found: dict[str, int] = self._control("GET")["counts"]
        return found

    def environment(self) -> dict[str, str]:
        """Environment variables that point the real SDKs here."""
        return environment(self.url)

    def start(self) -> None:
        """Start the process and wait until it listens.

        Raises:
            RuntimeError: It ended before it listened; its message is on standard error.
        """
        environ = {**os.environ, "REENACT_DISABLE": "1"}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            status = self._process.wait()
            raise RuntimeError(f"the scripted provider ended with status {status} before it listened")

    def set_day(self, day: int) -> None:
        """Move the world to another day."""
        self._control("POST", {"day": day})

    def stop(self) -> None:
        """End the process and wait until it is gone; the door is closed then."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _control(self, method: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            status = "never started" if self._process is None else f"ended with status {self._process.poll()}"
            raise RuntimeError(f"the scripted provider {status}")
        from http.client import HTTPConnection  # late: it loads ssl and the parsers of mail

        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=10)
        try:
            connection.request(method, CONTROL, json.dumps(body) if body is not None else None)
            found: dict[str, Any] = json.loads(connection.getresponse().read())
            return found
        finally:
            connection.close()
