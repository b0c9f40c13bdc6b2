"""Figures: what a run came to, in the terms in which runs are compared: answer, tools, tokens, cost, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reenact.abc.store import Recording
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.timetravel.vocabulary import RunScope

_ASKED = ("status", "answer", "events", "models", "tools", "tokens", "tokens_in", "tokens_out", "cost", "duration")


def figures(recording: Recording, calls: Iterable[str]) -> dict[str, Json]:
    """The figures of a run.

    Args:
        recording: The run.
        calls: Kind and name of each of its events, with a blank between them.

    Returns:
        JSON-able data; what is unknown is None. ``calls`` counts the tools by name.
    """
    run = recording.run
    scope = RunScope(run, lambda: recording)
    names = Counter(call.partition(" ")[2] for call in calls if call.startswith("tool "))
    return {
        "run": run.id,
        "tail": tail(run.id),
        "agent": run.agent,
        "relation": run.relation,
        **{name: scope.value(name) for name in _ASKED},
        "error": run.error or None,
        "calls": dict(names.most_common()),
    }
