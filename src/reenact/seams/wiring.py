"""The list of seams: they are put in place once in a process, and a session listens to them while it lasts."""

from __future__ import annotations

import _thread
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final

from reenact.facts import lazy_dataclass, lazy_regex
from reenact.facts.late import late
from reenact.facts.run import Run
from reenact.seams import (
    clock,
    databases,
    entropy,
    environment_variables,
    escapes,
    feature_flags,
    file_contents,
    http,
    lanes,
    listings,
    looks,
    machine,
    mcp,
    numpy_random,
    passwords,
    processes,
    rebinding,
    rpc,
    servers,
    stdin,
    stdout,
    strands,
    websockets,
)
from reenact.seams.http.http_exchange import stateless_tests
from reenact.seams.unfollowed_actions import require_lock

if TYPE_CHECKING:
    from reenact.facts.dialects import stateless_model_request
else:
    stateless_model_request = late("reenact.facts.dialects", "stateless_model_request")

LATE: Final = (
    "reenact.facts.dialects",
    "reenact.seams.http.aiohttp_connectors",
    "reenact.seams.http.httpx_clients",
    "reenact.seams.http.outgoing_request",
    "reenact.seams.http.stdlib_client",
    "reenact.seams.http.urllib3_pools",
    "reenact.seams.mcp.sessions",
    "reenact.seams.mcp.transports",
    "reenact.seams.processes.asyncio_processes",
    "reenact.seams.rpc.rpc_blocking",
    "reenact.seams.rpc.connectivity",
    "reenact.seams.rpc.rpc_asyncio",
    "reenact.seams.servers.uvicorn_hooks",
    "reenact.seams.servers.wsgi",
    "reenact.seams.strands.anyio_hooks",
    "reenact.seams.strands.loops",
    "reenact.seams.strands.pools",
    "reenact.seams.strands.trio_hooks",
    "reenact.seams.strands.uvloop_hooks",
    "reenact.seams.websockets.aiohttp_client",
    "reenact.seams.websockets.websocket_clients",
)
"""The seams that are loaded when the program imports a library; none of them imports one."""

_REBOUND: Final = tuple(
    seam.rebinding for seam in (clock, entropy, machine, environment_variables, listings, looks, stdin, stdout)
)
"""The replacements that are in place as long as any session listens, in this order."""

_lock = _thread.allocate_lock()
_installed = False


def install() -> None:
    """Put every permanent seam in place. Imports no client library; a later import is patched when it happens."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    strands.install()
    http.install()
    rpc.install()
    processes.install()
    servers.install()
    mcp.install()
    escapes.install()
    numpy_random.install()
    passwords.install()
    databases.install()
    feature_flags.install()
    websockets.install()
    stateless_tests.append(stateless_model_request)


def load() -> None:
    """Load every seam now, so that the children of this process need not."""
    for name in LATE:
        import_module(name)


def rehearse() -> None:
    """Do the one-time work of a process's first session now, so that the sessions of its children need not."""
    rebinding.search_ahead()
    lazy_dataclass.complete()
    lazy_regex.complete()
    for each in _REBOUND:
        each.join()
    for each in reversed(_REBOUND):
        each.leave()


@contextmanager
def host(listening: AbstractContextManager[None], run: Run) -> Iterator[None]:
    """The session of a run listens in this block; ``listening`` is the block that ``session.begin`` gives."""
    with listening:
        begin(run)
        require_lock(lanes.current())
        try:
            yield
        finally:
            end(run)
            lanes.session_ended()


def begin(run: Run) -> None:
    """The session of a run begins: the clocks, the entropy, the environment and the machine's name follow it."""
    for each in _REBOUND:
        each.join()
    if run.capture.get("file_contents"):
        file_contents.rebinding.join()


def end(run: Run) -> None:
    """The session of a run ends; after the last one the clocks are the system's again."""
    if run.capture.get("file_contents"):
        file_contents.rebinding.leave()
    for each in reversed(_REBOUND):
        each.leave()
