"""Generators as streams: each item that a generator yields is a segment, its end is the end of the stream.

A segment is a JSON object with one key: ``{"yield": value}``, ``{"return": value}`` (only when not None),
``{"sent": value}`` for what the consumer sent in and ``{"thrown": "module.Type"}`` for what it threw in. The body of
the generator runs in the scope of the call, and only while it runs: between two items its consumer is outside.

The decisions live in ``ItemRecorder`` (performing) and ``ItemPlayer`` (frozen).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from hashlib import blake2b
from typing import Any

from reenact.abc.session import Frozen, Turn
from reenact.errors import Divergence, ReplayError
from reenact.facts.call import End, EndKind, Failure, Json, Value
from reenact.facts.decoding import restore
from reenact.facts.shapes import type_name
from reenact.facts.type_hints import Candidates, candidates
from reenact.facts.values import describe_error, encode, restore_error
from reenact.seams import lanes
from reenact.seams.colours import CLOSED, ItemTurn, OwnWork, RejoinTurn, Steps, Work, rejoined
from reenact.seams.functions import MEDIA, SeamCall, throw
from reenact.seams.lanes import Lane
from reenact.seams.switchboard import guarded
from reenact.seams.turns import NOW, closed, closed_again, rejoin

HEAD = {"generator": True}


class GeneratorScope:
    """The scope of one call, entered for each stretch of its body."""

    __slots__ = ("_crossing", "_lane")

    def __init__(self, crossing: Any) -> None:
        self._crossing = crossing
        self._lane: Lane | None = None

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """While the body runs."""
        if self._lane is None:
            with self._crossing.enter():
                self._lane = lanes.current()
                yield
        else:
            with lanes.inside(self._lane):
                yield


class ItemRecorder:
    """Notes a generator that is being performed. Every method gives the turn to wait for; none raises.

    A call whose body runs in replays too (observed, or rerun) has no stream: a digest of its items is its value.
    """

    def __init__(self, lane: Lane, crossing: Any, call: SeamCall) -> None:
        self._lane = lane
        self._crossing = crossing
        self._call = call
        self.whole = crossing.mode == "rerun" or call.observed
        self._begun = False
        self._items = 0
        self._digest = blake2b(digest_size=16)
        self.scope = GeneratorScope(crossing)

    def _guarded(self, note: Callable[[], Any]) -> Any:
        turn = guarded(self._lane, note)
        return NOW if turn is None else turn

    def ready(self) -> Turn[None]:
        """The turn before the body begins."""
        turn: Turn[None] = NOW if self._crossing.mode == "rerun" else self._crossing.ready()
        return turn

    def begin(self, lacks: Callable[[], dict[str, Json]] = dict) -> Turn[None]:
        """The turn before the first item or the end.

        ``lacks``: gives the parts of an item that a replay cannot restore."""
        if self._begun or self.whole:
            return NOW
        self._begun = True
        turn: Turn[None] = self._guarded(lambda: self._crossing.head(HEAD | lacks()))
        return turn

    def item(self, value: Any) -> Iterator[Turn[None]]:
        """One item. The type in the head is that of the first item, for all items."""
        yield self.begin(lambda: self._call.lacks(encode(value)))
        yield self.part("yield", value)

    def part(self, key: str, value: Any) -> Turn[None]:
        """One item (``yield``), or what the consumer put in (``sent``, ``thrown``)."""

        def note() -> Turn[None]:
            data = b'{"%s":%s}' % (key.encode(), encode(value).body)
            if self.whole:
                self._items += 1
                self._digest.update(data)
                return NOW
            turn: Turn[None] = self._crossing.segment(data)
            return turn

        turn: Turn[None] = self._guarded(note)
        return turn

    def returned(self, value: Any) -> Iterator[Turn[None]]:
        """The generator has ended."""
        yield self.begin()
        if value is not None:
            yield self.part("return", value)
        if self.whole:
            body = json.dumps({"items": self._items, "digest": self._digest.hexdigest()}).encode()
            yield self._guarded(lambda: self._crossing.settle(Value(body, MEDIA, head=HEAD)))
        else:
            yield self._guarded(lambda: self._crossing.end(End(EndKind.EOF)))

    def failed(self, error: Exception) -> Iterator[Turn[None]]:
        """The generator raised."""
        yield self.begin()
        if self.whole:
            yield self._guarded(lambda: self._crossing.settle(Failure(describe_error(error), head=HEAD)))
        else:
            yield self._guarded(lambda: self._crossing.end(End(EndKind.ERROR, describe_error(error))))

    def dropped(self, kind: EndKind) -> None:
        """The consumer has ended the generator."""
        if self._crossing.mode == "live":
            self._guarded(lambda: self._crossing.dropped(End(kind)))


class ItemPlayer:
    """Reads a recorded generator back."""

    def __init__(self, call: SeamCall, crossing: Frozen) -> None:
        self._call = call
        self.crossing = crossing
        self._of: Candidates = candidates(call.declared)
        self.value: Any = None

    def outcome(self, outcome: Value | Failure) -> Any:
        """The outcome of a generator that was not kept as a stream; raises its recorded error."""
        return self._call.reveal(outcome)

    def read(self, part: bytes | End) -> tuple[str, Any]:
        """One part: ``("yield", item)``, ``("return", value)``, ``("end", None)`` or what the consumer had put in.

        Raises:
            The error that the generator had raised.
        """
        try:
            error, found = self._restored(part)
        except ReplayError as problem:
            self._call.sticks(problem)
            raise
        if error is not None:
            throw(error)
        return found

    def _restored(self, part: bytes | End) -> tuple[BaseException | None, tuple[str, Any]]:
        if isinstance(part, End):
            return None if part.error is None else restore_error(part.error), ("end", None)
        ((key, node),) = json.loads(part).items()
        if key == "return":
            self.value = restore(node)
        return None, (key, restore(node, self._of) if key == "yield" else node)

    def agree(self, part: tuple[str, Any], key: str, value: Any) -> None:
        """Check that the consumer sends in the recorded value.

        Raises:
            Divergence: The consumer sends another value.
        """
        now = json.loads(encode(value).body)
        if part != (key, now):
            told = f"{self._call.name} is given something else than when it was recorded"
            facts: Any = {"event": self.crossing.event, "recorded": list(part), "now": [key, now], "path": key}
            problem = Divergence(told, **facts, next_command="reenact replay @ --through TOOL")
            self._call.sticks(problem)
            raise problem


def thrown(error: BaseException) -> str:
    """How an exception that a consumer throws in is kept."""
    return type_name(type(error))


def through(body: Any, scope: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Steps[Any]:
    """Pass the items of a generator of either colour on; its body runs in ``scope()`` alone."""
    resume, send, throw_in, close, ends = _functions(body)
    while True:
        try:
            item = yield Work(resume, scope())
        except ends as stop:
            return getattr(stop, "value", None)
        try:
            sent = yield ItemTurn(item)
        except BaseException as error:
            resume = partial(throw_in, error)
            continue
        if sent is CLOSED:
            yield Work(close)
            return CLOSED
        resume = partial(send, sent)


def _functions(body: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Callable[..., Any], Any]:
    """How a generator goes on, is sent a value, is thrown an error and is closed, and the error with which it ends."""
    if hasattr(body, "__anext__"):
        return body.__anext__, body.asend, body.athrow, body.aclose, StopAsyncIteration
    return body.__next__, body.send, body.throw, body.close, StopIteration


def taped(tape: ItemRecorder, body: Any) -> Steps[Any]:
    """Perform a generator of either colour and note it."""
    yield tape.ready()
    resume, send, throw_in, close, ends = _functions(body)
    while True:
        try:
            item = yield Work(resume, tape.scope.resumed())
        except ends as stop:
            result = getattr(stop, "value", None)
            yield from tape.returned(result)
            return result
        except Exception as error:
            yield from tape.failed(error)
            raise
        except BaseException as error:
            tape.dropped(EndKind.CANCELLED)
            yield from rejoined(error)
            raise
        yield from tape.item(item)
        try:
            sent = yield ItemTurn(item)
        except BaseException as error:
            yield tape.part("thrown", thrown(error))
            resume = partial(throw_in, error)
            continue
        if sent is CLOSED:
            return (yield from _closed(tape, close))
        if sent is not None:
            yield tape.part("sent", sent)
        resume = partial(send, sent)


def _closed(tape: ItemRecorder, close: Callable[[], Any]) -> Steps[None]:
    """The consumer has closed the generator. A body that runs again in a replay rests there by itself."""
    closing = OwnWork(close, tape.scope.resumed())
    yield closing
    tape.dropped(EndKind.CLOSED)
    yield RejoinTurn(lambda: rejoin(rested=False) if tape.whole else closed(closing.course))


def played(play: ItemPlayer) -> Steps[Any]:
    """Give a recorded generator of either colour again."""
    crossing = play.crossing
    if crossing.form != "stream":
        return play.outcome((yield crossing.outcome()))
    yield crossing.head()
    while True:
        key, value = play.read((yield crossing.part()))
        if key == "end":
            return play.value
        if key != "yield":
            continue
        try:
            sent = yield ItemTurn(value)
        except BaseException as error:
            play.agree(play.read((yield crossing.part())), "thrown", thrown(error))
            continue
        if sent is CLOSED:
            crossing.dropped()
            return (yield RejoinTurn(closed_again))
        if sent is not None:
            play.agree(play.read((yield crossing.part())), "sent", sent)
