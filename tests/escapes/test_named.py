"""Proves that a websocket connection is named as a gap of the run that made it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WEBSOCKET = """
import threading
from websockets.sync.server import serve
from websockets.sync.client import connect
server = serve(lambda ws: ws.send(ws.recv().upper()), "127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
with connect("ws://127.0.0.1:%d" % server.socket.getsockname()[1]) as ws:
    ws.send("hello")
    print(ws.recv())
server.shutdown()
"""


def test_the_gap_is_shown(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(WEBSOCKET)

    def reenact(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "reenact", *argv],
            cwd=tmp_path,
            env=os.environ.copy(),
            capture_output=True,
            text=True,
            timeout=60,
        )

    recorded = reenact("record", "--", sys.executable, "agent.py")
    assert recorded.stdout.splitlines()[:1] == ["HELLO"], recorded.stderr
    shown = reenact("show", "@")
    assert "gap  websocket at " in shown.stdout, shown.stdout + shown.stderr
