"""Runs written record by record, with the calls that kits and budgets are about."""

from __future__ import annotations

import itertools
import json
from typing import Any

from reenact.facts.call import End, EndKind, Kind, Value
from reenact.facts.record import CallSettled, EvidenceNoted, GapNoted, HeadArrived, SegmentArrived, StreamEnded
from reenact.facts.run import Entry
from tests.cli.scenes import Scene

COMMAND = Entry("command", ("python", "agent.py"), hash_seed="7")
_seeds = itertools.count()
OPENAI = "https://api.openai.com/v1/chat/completions"


class Story(Scene):
    """A scene with the calls that kits are about."""

    def post(self, url: str, request: dict[str, Any], answer: Any) -> int:
        """One exchange of JSON."""
        head = {"method": "POST", "url": url, "headers": [["content-type", "application/json"]]}
        number = self.issue(Kind.HTTP, "POST", json.dumps(request).encode(), head=head)
        self._put(
            HeadArrived(number, number * 1000 + 100, {"status": 200, "headers": head["headers"]}),
            SegmentArrived(number, number * 1000 + 200, json.dumps(answer).encode()),
            StreamEnded(number, number * 1000 + 400, End(EndKind.EOF)),
        )
        return number

    def model(self, *messages: dict[str, Any], **request: Any) -> int:
        """One model call that answers with a text."""
        asked = {"model": "gpt-5.4-mini-2025-08-07", "messages": list(messages), **request}
        said = {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
        return self.post(OPENAI, asked, {"model": asked["model"], "choices": [said]})

    def note_on(self, event: int, key: str, value: Any) -> None:
        """Evidence on one event."""
        self._put(EvidenceNoted(event, key, value))

    def gap(self, what: str, place: str) -> None:
        """Something that escaped."""
        self._put(GapNoted(what, place))

    def opaque(self, name: str) -> int:
        """A tool that returned what cannot be stored."""
        number = self.issue(Kind.TOOL, name, b"{}")
        self._put(CallSettled(number, number * 1000 + 1, Value(b"null", head={"opaque": ["socket.socket"]})))
        return number

    def retrieve(self, *chunks: Any, model: str = "") -> int:
        """A retrieval with its reading."""
        head = {"embedding_model": model} if model else {}
        number = self.issue(Kind.RETRIEVAL, "nearest", b"{}", head=head)
        outcome = Value(b"[]", head={"chunks": list(chunks)} if chunks else {})
        self._put(CallSettled(number, number * 1000 + 1, outcome))
        return number


def story(store: Any, **fields: Any) -> Story:
    return Story(store, next(_seeds) % 250 + 1, **{"entry": COMMAND, "agent": "a", **fields})


def user(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}
