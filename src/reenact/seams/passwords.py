"""Passwords that a program asks for: the question is a crossing, and its answer is a credential that is never kept.

``getpass`` reads the terminal itself, past ``sys.stdin``. A replay asks no question, and gives a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.errors_as_data import restore_error
from reenact.facts.known_credentials import placeholder
from reenact.facts.values import sealed
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.stdin import PROMPT_RULE
from reenact.seams.switchboard import cross

_NAME = "getpass"


def install() -> None:
    """Hook the function once the program has imported it."""
    when_imported("getpass", _hook)


def _hook(module: ModuleType) -> None:
    replace(module, _NAME, _asking)


def _asking(original: Callable[..., str]) -> Callable[..., str]:
    def getpass(prompt: str = "Password: ", stream: Any = None) -> str:
        lane = listening()
        if lane is None:
            return original(prompt, stream)
        body = str(prompt).encode("utf-8", "surrogateescape")
        call = Call(Kind.HUMAN, _NAME, Effect.READ, PROMPT_RULE, {"prompt": str(prompt)}, body, "text/plain")

        def ask() -> str:
            with inside(Lane(lane.path, lane.session, lane.gate, below=True)):  # its own read gets the password
                return original(prompt, stream)

        given: str = cross(
            lane, lambda: call, ask, lambda _, error: sealed(None, error), lambda told: _given(told, prompt)
        )
        return given

    return getpass


def _given(told: Value | Failure, prompt: str) -> str:
    if isinstance(told, Failure):
        raise restore_error(told.error)
    return placeholder(str(prompt))
