"""Which seams there are: put in place once a process, listened to while a session lasts."""

from __future__ import annotations

import _thread
from collections.abc import Mapping

from reenact.facts.call import Json
from reenact.facts.policy import Policy
from reenact.seams import clock, entropy, http, strands
from reenact.seams.http.exchange import regard_as_read
from reenact.seams.models import stateless_model_request

_lock = _thread.allocate_lock()
_installed = False
_policy = Policy()
_environment: Mapping[str, Json] = {}


def install() -> None:
    """Put every permanent seam in place. Imports no client library; a later import is patched when it happens."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    strands.install()
    http.install()
    regard_as_read(stateless_model_request)


def begin() -> None:
    """A session begins: the clocks and the entropy follow it."""
    clock.install()
    entropy.install()


def end() -> None:
    """A session ends; after the last one the clocks are the system's again."""
    entropy.remove()
    clock.remove()


def configure(policy: Policy, environment: Mapping[str, Json]) -> None:
    """Set what recordings of this process use when they are not told otherwise."""
    global _policy, _environment
    _policy = policy
    _environment = dict(environment)


def configured_policy() -> Policy:
    """The policy of this process."""
    return _policy


def environment() -> Mapping[str, Json]:
    """What is known about this process from outside it."""
    return _environment
