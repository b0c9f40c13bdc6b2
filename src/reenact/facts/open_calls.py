"""Unstored answers: which answers of the world are not in a recording, and which item of the kit lacks each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from reenact.facts.call import Call, Effect, Fidelity, Kind, Outcome, calls_a_tool
from reenact.facts.lazy_dataclass import dataclass, replace

ITEMS: Final[Mapping[Kind, str]] = {
    Kind.TOOL: "tool_calls",
    Kind.RETRIEVAL: "retrievals",
    Kind.MCP: "mcp",
    Kind.PROCESS: "processes",
    Kind.HUMAN: "answers_of_people",
    Kind.FILE: "files",
    Kind.DB: "databases",
    Kind.FLAG: "flag_evaluations",
    Kind.ENV: "environment_reads",
    Kind.WEBSOCKET: "websockets",
    Kind.HTTP: "exchanges",
}
"""The names of kinds of calls in a kit."""

MODELS: Final = "model_calls"


def item_of(call: Call) -> str:
    """The item of the kit that a call belongs to; empty for a call that asks nothing of the world. An HTTP exchange
    with a model is not distinguished from others."""
    if call.kind is Kind.MODEL:
        return MODELS
    return ITEMS[Kind.TOOL] if calls_a_tool(call) else ITEMS.get(call.kind, "")


def is_opaque(call: Call, outcome: Outcome | None) -> bool:
    """Whether a recorded answer cannot be returned unchanged, because it is no data."""
    if call.observed or call.effect is Effect.NONE or outcome is None:
        return False
    return bool(outcome.head.get("opaque") or outcome.head.get("mutates_opaque"))


def is_unstored(call: Call, outcome: Outcome | None, fidelity: Fidelity) -> bool:
    """Whether a replay lacks the outcome of a call, because it was withheld or is no data."""
    return (fidelity is Fidelity.WITHHELD and not call.observed) or is_opaque(call, outcome)


W = TypeVar("W")


@dataclass(slots=True)
class _OpenCall(Generic[W]):
    call: Call
    where: W
    inside: bool
    withheld: bool = False


class OpenCalls(Generic[W]):
    """The calls under way that ask the world, and the answers that a replay will lack. ``W`` is the type of a call's
    owner."""

    def __init__(self) -> None:
        self._open: dict[int, _OpenCall[W]] = {}

    def issued(self, event: int, parent: int | None, call: Call, where: W) -> None:
        """Note that a call was issued. The answer to a call inside a call that a replay answers as a whole will not be
        missed."""
        around = None if parent is None else self._open.get(parent)
        inside = around is not None and (around.inside or not around.call.observed)
        self._open[event] = _OpenCall(replace(call, body=b""), where, inside)

    def withheld(self, event: int) -> None:
        """Note that a part of a call's outcome is not kept."""
        asked = self._open.get(event)
        if asked is not None:
            asked.withheld = True

    def ended(self, event: int, outcome: Outcome | None, fidelity: Fidelity) -> tuple[str, W] | None:
        """Note that a call has ended. Returns the item of the kit that lacks its answer, and the owner of the call;
        None if a replay does not need the answer or has it."""
        asked = self._open.pop(event, None)
        if asked is None or asked.inside:
            return None
        weakest = Fidelity.WITHHELD if asked.withheld else fidelity
        return (item_of(asked.call), asked.where) if is_unstored(asked.call, outcome, weakest) else None
