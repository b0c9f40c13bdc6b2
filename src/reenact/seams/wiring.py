"""Which seams there are: put in place once a process, listened to while a session lasts."""

from __future__ import annotations

import _thread

from reenact.facts.dialects import stateless_model_request
from reenact.facts.policy import Policy
from reenact.seams import clock, entropy, http, machine, mcp, processes, strands, websockets
from reenact.seams.http.exchange import stateless_tests

_lock = _thread.allocate_lock()
_installed = False
_policy = Policy()


def install() -> None:
    """Put every permanent seam in place. Imports no client library; a later import is patched when it happens."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    strands.install()
    http.install()
    processes.install()
    mcp.install()
    websockets.install()
    stateless_tests.append(stateless_model_request)


def begin() -> None:
    """A session begins: the clocks, the entropy and the machine's name follow it."""
    clock.install()
    entropy.install()
    machine.install()


def end() -> None:
    """A session ends; after the last one the clocks are the system's again."""
    machine.remove()
    entropy.remove()
    clock.remove()


def configure(policy: Policy) -> None:
    """Set what recordings of this process use when they are not told otherwise."""
    global _policy
    _policy = policy


def configured_policy() -> Policy:
    """The policy of this process."""
    return _policy
