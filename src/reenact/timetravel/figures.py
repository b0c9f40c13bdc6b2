"""Figures: the results by which runs are compared: answer, tools, tokens, cost, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reenact.abc.store import Recording
from reenact.facts.call import Json, Kind
from reenact.facts.ids import tail
from reenact.facts.insides import summed
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Totals
from reenact.timetravel.cost import prices, run_cost
from reenact.timetravel.hidden_calls import HiddenCalls
from reenact.timetravel.vocabulary import RunScope, money

_ASKED = ("status", "answer", "events", "models", "tools", "tokens", "tokens_in", "tokens_out", "cost", "duration")


def figures(recording: Recording, calls: Iterable[str], more: HiddenCalls) -> dict[str, Json]:
    """The figures of a run.

    Args:
        recording: The run.
        calls: Kind and name of each of its events but telemetry, with a blank between them.
        more: Calls inside its answers of which it has no events. They count for this run, as they do in the run with
            which it is compared.

    Returns:
        JSON-able data; what is unknown is None. ``calls`` counts the tools by name.
    """
    run = recording.run
    if more.events:
        run = replace(run, totals=_plus(run.totals, summed(more.events)))
    scope = RunScope(run, lambda: recording)
    kept = list(calls)
    names = Counter(call.partition(" ")[2] for call in kept if call.startswith("tool "))
    names.update(event.name for event in more.events if event.call.kind is Kind.TOOL)
    known: dict[str, Json] = {"events": len(kept) + len(more.events)}
    known["cost"] = money(run_cost(recording, prices() if run.totals.models else None, more.events, more.around))
    return {
        "run": run.id,
        "tail": tail(run.id),
        "agent": run.agent,
        "relation": run.relation,
        **{name: known[name] if name in known else scope.value(name) for name in _ASKED},
        "error": run.error or None,
        "calls": dict(sorted(names.items(), key=lambda each: (-each[1], each[0]))),
    }


def _plus(totals: Totals, more: Totals) -> Totals:
    names = ("events", "models", "tools", "tokens_in", "tokens_out")
    return replace(totals, **{name: getattr(totals, name) + getattr(more, name) for name in names})
