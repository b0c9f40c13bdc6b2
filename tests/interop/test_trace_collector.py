"""Spans pass through a collector of OpenTelemetry that others have made: ours arrive, and what it sends is a run."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from reenact.interop.otlp.run_spans import SUSPICIONS
from tests.http.server import Server
from tests.interop.conftest import Tried
from tests.interop.spans_out import AGENT, Receiver, said, serve, told
from tests.interop.test_serve import SPANS, Served, runs

FOUND = find_spec("rotel")
pytestmark = pytest.mark.skipif(
    FOUND is None, reason="no collector here, a package brings it: scripts/environment.py .venv collector"
)
PATIENCE_S = 30

Collecting = Callable[[str], tuple[str, str]]
"""Starts a collector that passes everything on to a URL; gives its addresses for HTTP and gRPC."""


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[Collecting]:
    assert FOUND is not None and FOUND.submodule_search_locations
    program = Path(FOUND.submodule_search_locations[0], "rotel-agent")
    with ExitStack() as closing:

        def start(target: str) -> tuple[str, str]:
            web, rpc = (f"127.0.0.1:{_free_port()}" for _ in range(2))
            way = "grpc" if target.startswith("grpc:") else "http"
            to = target.replace("grpc:", "http:")
            words = ["--otlp-http-endpoint", web, "--otlp-grpc-endpoint", rpc, "--otlp-exporter-endpoint", to]
            words += ["--exporter", "otlp", "--otlp-exporter-protocol", way]
            with (tmp_path / "collector.log").open("wb") as log:
                made = subprocess.Popen([program, "start", *words], stdout=log, stderr=log, cwd=tmp_path)
            closing.callback(made.wait, PATIENCE_S)
            closing.callback(made.kill)
            for address in (web, rpc):
                _listens(address, made)
            return f"http://{web}", f"grpc://{rpc}"

        yield start


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


def _listens(address: str, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            continue
        return
    raise AssertionError(f"the collector does not listen on {address}")


def arrived(receiver: Receiver, count: int) -> list[Any]:
    """The spans that have come to a receiver, when there are so many."""
    until = time.monotonic() + PATIENCE_S
    while len(receiver.spans) < count and (left := until - time.monotonic()) > 0:
        receiver.arrived.wait(left)
        receiver.arrived.clear()
    return receiver.spans


@pytest.mark.parametrize("kind", ["http", "grpc"])
@pytest.mark.parametrize("content", ["reference", "inline"])
def test_what_is_recorded_passes_through_a_collector(
    desk: Tried, server: Server, collecting: Collecting, kind: str, content: str
) -> None:
    receiver = Receiver()
    web, rpc = collecting(receiver.server.url)
    serve(server)
    desk.writes("reenact.toml", f'[otel]\nendpoint = "{web if kind == "http" else rpc}"\ncontent = "{content}"\n')
    desk.writes("agent.py", AGENT)
    done = desk.reenact("record", "--agent", "desk@2", "--", "python", "agent.py", server.url)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n"), done.err.decode()
    assert b"lost" not in done.err, done.err.decode()
    desk.reenact("export", "otel", "@", "-o", "after.json")
    written = {each["spanId"]: each for each in told((desk.folder / "after.json").read_bytes())}
    spans = {span.span_id.hex(): span for span in arrived(receiver, len(written))}
    receiver.server.close()
    assert spans.keys() == written.keys()
    for name, span in spans.items():
        own = written[name]
        assert (span.name, span.parent_span_id.hex()) == (own["name"], own.get("parentSpanId", ""))
        assert (span.start_time_unix_nano, span.kind) == (int(own["startTimeUnixNano"]), own["kind"])
        later = {SUSPICIONS}  # a run is looked through for these when it has ended
        assert said(span) == {key: each for key, each in own["said"].items() if key not in later}


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_what_a_collector_passes_on_is_a_run(desk: Tried, collecting: Collecting, kind: str) -> None:
    served = Served(desk)
    web, _ = collecting(served.url if kind == "http" else f"grpc://{served.rpc}")
    desk.writes("agent.py", textwrap.dedent(SPANS))
    sent = desk.run(sys.executable, "agent.py", "http", web)
    assert (sent.code, sent.err) == (0, b"")
    until = time.monotonic() + PATIENCE_S
    while not any(run["totals"]["tools"] for run in runs(desk)) and time.monotonic() < until:
        pass  # it is not there yet, or is being written
    served.end()
    (run,) = runs(desk)
    assert (run["agent"], run["totals"]["tools"]) == ("shop", 3)
