"""Shows for ``show`` where a failed run went wrong: the ranked steps, and the opinion of a model, which is asked only
with consent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reenact.abc.store import Recording, Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.run import Run
from reenact.interfaces.cli.shell import Shell, columns, paint
from reenact.timetravel import preview
from reenact.timetravel.cost import prices, reading_cost
from reenact.timetravel.decisive_steps import decisive_steps, is_asked_for
from reenact.timetravel.suspicion_marks import SuspicionLook

if TYPE_CHECKING:
    from reenact.store.bundles import BundleStore
    from reenact.testing.decisive_inquiry import Inquiry, PointedAnswer, asked, inquiry, kept
    from reenact.testing.expectations.judge_calls import protocol_of
else:
    BundleStore = late("reenact.store.bundles", "BundleStore")
    protocol_of = late("reenact.testing.expectations.judge_calls", "protocol_of")
    Inquiry = late("reenact.testing.decisive_inquiry", "Inquiry")
    PointedAnswer = late("reenact.testing.decisive_inquiry", "PointedAnswer")
    asked = late("reenact.testing.decisive_inquiry", "asked")
    inquiry = late("reenact.testing.decisive_inquiry", "inquiry")
    kept = late("reenact.testing.decisive_inquiry", "kept")

_REASONS = 2
"""The most reasons that are shown for a step."""
_REPLY = 150
"""The assumed number of tokens of a reply, for the price."""


def hint_lines(store: Store, run: Run, seen: SuspicionLook) -> Iterator[str]:
    """The lines on the steps to look at first; empty for a run that neither failed nor was flagged."""
    if not is_asked_for(run):
        return
    for place, step in enumerate(decisive_steps(store, run, seen)):
        where = f"  hint      look at #{step.event} first" if place == 0 else f"            then at #{step.event}"
        reasons = preview.safe("; ".join(step.reasons[:_REASONS]))
        yield paint(preview.clip(f"{where}: {reasons}", columns()), fg="yellow")


def hint_data(store: Store, run: Run, seen: SuspicionLook) -> dict[str, Json] | None:
    """The steps to look at first, as JSON data; None for a run that did not fail."""
    if not is_asked_for(run):
        return None
    steps = decisive_steps(store, run, seen)
    rows = [{"event": each.event, "score": round(each.score, 3), "reasons": list(each.reasons)} for each in steps]
    return {"type": "hint", "steps": rows}


def pointed(shell: Shell, store: Store, recording: Recording, model: str, live: bool) -> PointedAnswer | None:
    """A model's opinion on a run: the stored one, or a new one if the user consents.

    Args:
        shell: The shell of the command, which prints price and address before anything is sent.
        store: The store that keeps the exchange.
        recording: The run.
        model: The model.
        live: Whether the model may be asked.

    Raises:
        UsageError: The model could not be asked, or the run is in a bundle, which cannot keep the answer.
    """
    about = inquiry(recording, model)
    known = kept(store, about)
    if known is not None:
        return known
    told = f"about {about.tokens} tokens to {model} at {about.address}{_price(about)}"
    if not live:
        shell.talk(f"reenact: --judge sends {told}; nothing was sent, add --live to ask")
        return None
    if isinstance(store, BundleStore):
        raise UsageError(
            "a bundle cannot keep what a model answers",
            cause="it is one run as one file, and is only read",
            next_command="reenact unpack FILE.reenact",
        )
    shell.talk(f"reenact: --judge sends {told}")
    return asked(store, about)


def pointed_lines(found: PointedAnswer, model: str) -> Iterator[str]:
    """A model's opinion, as text."""
    named = ", ".join(f"#{number}" for number in found.steps) or "names no step"
    source = f" (run {tail(found.run)})" if found.run else ""
    text = f"  judge     {preview.safe(model)}: {named}{source}: {preview.safe(found.reason)}"
    yield paint(preview.clip(text, columns()), fg="yellow")


def pointed_data(found: PointedAnswer, model: str) -> dict[str, Json]:
    """A model's opinion, as JSON data."""
    return {"type": "judge", "model": model, "steps": list(found.steps), "reason": found.reason, "run": found.run}


def _price(about: Inquiry) -> str:
    """The price of the question to the model, in words; "price unknown" if it is not known."""
    protocol, name = protocol_of(about.model)
    usage = {"tokens_in": about.tokens, "tokens_out": _REPLY}
    priced = prices()
    reading = {"provider": protocol, "model_asked": name, "usage": usage}
    cost = None if priced is None else reading_cost(reading, time.time_ns() // 1000, priced)
    return ", price unknown" if cost is None else f", about ${preview.amount(cost)}"
