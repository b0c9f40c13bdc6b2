"""Opinions: each exchange with a judging model is kept as an ordinary run, in a given store.

A golden trace keeps it beside the incident's own recording. A kept opinion is used again offline, if today's question,
after cleaning, equals the recorded one byte for byte.
"""

from __future__ import annotations

import json
import math
import os
from typing import Final

from reenact.abc.store import Store
from reenact.errors import StoreError, UnreplayableRun
from reenact.facts.call import Json, Kind
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.privacy import make_redactor
from reenact.recording.record_api import record
from reenact.replaying.replay_opening import known_values
from reenact.testing.expectations.courts import Opinion, Question, stale
from reenact.testing.expectations.judge_calls import address_of, ask, request_body
from reenact.timetravel.vocabulary import RunScope

__all__ = ["TAG", "KeptOpinions", "asked_opinion", "kept_opinion"]

TAG: Final = "judged"
"""Label of the runs that hold opinions: the digest of the question."""


class KeptOpinions:
    """Opinions kept as runs of a store, each asked for once.

    Args:
        store: The store for them.
        ask: Whether a question without a recording may be asked and recorded.

    Attributes:
        used: The ids of the runs whose opinions were used, in order; a bundle must hold them.
        asked: The number of questions to a model.
    """

    def __init__(self, store: Store, *, ask: bool = False) -> None:
        self._store = store
        self._may_ask = ask
        self.used: list[str] = []
        self.asked = 0

    def opinion(self, question: Question) -> Opinion:
        """See ``Court``. Costs a look into the store (a millisecond), or one model call."""
        try:
            found = kept_opinion(self._store, question)
        except UnreplayableRun:
            if not self._may_ask:
                raise
            self.asked += 1
            found = asked_opinion(self._store, question)
        if found.run:
            self.used.append(found.run)
        return found


def kept_opinion(store: Store, question: Question) -> Opinion:
    """The opinion on a question that a store keeps.

    Raises:
        UnreplayableRun: The store has no opinion, or only one on another form of the question.
        StoreError: The opinion is damaged.
    """
    run = _newest(store, question)
    if run is None:
        raise stale(question, "it has not been asked about this answer")
    recording = store.open(run)
    event = next(iter(recording.events(kinds=(Kind.HTTP,), limit=1)), None)
    # A request may clean a text again that is clean already. So today's request is cleaned like the recorded one.
    redactor = make_redactor(known=known_values(run, os.environ))
    call = None if event is None else redactor.call(replace(event.call, body=request_body(*question.parts)))
    if event is None or call is None or recording.body(event.request) != call.body:
        raise stale(
            question,
            "its recording does not fit any more: what was kept under its name holds another question, or this one in"
            " another form",
        )
    return _read(RunScope(run, lambda: recording).value("result"), run.id)


def asked_opinion(store: Store, question: Question) -> Opinion:
    """Ask a model, once, and keep the exchange in a store. The opinion's ``run`` is empty if that failed.

    Raises:
        UsageError: The model could not be asked.
    """
    entry = record(agent="judge", tags={TAG: question.digest}, store=store)(ask)
    output = entry(*question.parts, address_of(question.model))
    kept = _newest(store, question)
    return _read(output, "" if kept is None else kept.id)


def _newest(store: Store, question: Question) -> Run | None:
    try:
        return next(iter(store.runs(tag={TAG: question.digest}, status="ok", limit=1)), None)
    except StoreError as error:
        if getattr(error, "reason", "") != "absent":
            raise
        return None  # a file that the first opinion will make


def _read(output: Json, run: str) -> Opinion:
    """The score and the reason in a reply: one JSON object, with any text around it."""
    text = str(output.get("text", "")) if isinstance(output, dict) else ""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        found = None
    score = found.get("score") if isinstance(found, dict) else None
    if not isinstance(score, (int, float)) or isinstance(score, bool) or not math.isfinite(score):
        return Opinion(None, text[:200], run)
    return Opinion(
        min(1.0, max(0.0, float(score))), str(found.get("reason", "")) if isinstance(found, dict) else "", run
    )
