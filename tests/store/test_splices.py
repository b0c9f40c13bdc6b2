"""Versions of a document as pieces: exact whatever was changed, and what is new is kept once."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reenact.facts.common_bytes import common_head, common_tail, nearest
from reenact.store import splices
from reenact.store.splices import EMPTY, Recent, SpliceVersion, VersionShape, applied, split


class Keeper:
    """Keeps versions, and reads each back from what was said of it alone."""

    def __init__(self) -> None:
        self.recent = Recent()
        self.text = bytearray()
        self.version: SpliceVersion = EMPTY
        self.shape: VersionShape = EMPTY.shape

    def keep(self, body: bytes) -> None:
        def append(new: bytes) -> splices.SplicePiece:
            self.text.extend(new)
            return self.recent.append(new)

        change, self.version = split(body, self.version, self.recent, append)
        self.shape = applied(change, self.shape)
        assert self.shape == self.version.shape
        assert b"".join(bytes(self.text[start : start + size]) for start, size in self.shape.pieces) == body
        assert self.shape.size == len(body)
        assert all(size for _, size in self.shape.pieces)
        assert splices.joined(self.shape.pieces) == list(self.shape.pieces)


def kept(bodies: list[bytes]) -> Keeper:
    """What keeps some versions."""
    keeper = Keeper()
    for body in bodies:
        keeper.keep(body)
    return keeper


def text(seed: int, size: int = 600) -> str:
    return base64.b64encode(random.Random(seed).randbytes(size)).decode()


def body(messages: list[Any], **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": messages, "tools": [text(-1)], **more}).encode()


def said(n: int) -> dict[str, Any]:
    return {"role": ("user", "assistant")[n % 2], "content": text(n)}


SMALL = st.binary(max_size=40)


@given(st.lists(st.lists(st.sampled_from([b'{"a":"' + bytes([n]) * 60 + b'"}' for n in range(5)]) | SMALL), max_size=6))
def test_any_versions_read_back(versions: list[list[bytes]]) -> None:
    kept([b",".join(each) for each in versions])


class Conversation(RuleBasedStateMachine):
    """A history to which anything is done that agents do to theirs; each version is exact, and costs what is new."""

    def __init__(self) -> None:
        super().__init__()
        self.keeper = Keeper()
        self.messages: list[Any] = [said(0)]
        self.extra: dict[str, Any] = {}
        self.count = 1
        self.most = 1500
        """Most bytes of text: what is new, and something for each edit."""

    def new(self, size: int = 600) -> str:
        self.count += 1
        self.most += size * 4 // 3 + 300
        return text(self.count, size)

    @rule()
    def append(self) -> None:
        self.messages.append({"role": "user", "content": self.new()})

    @rule(at=st.integers(0, 50))
    def edit(self, at: int) -> None:
        if self.messages:
            self.messages[at % len(self.messages)] = {"role": "user", "content": self.new()}

    @rule(keep=st.integers(1, 8))
    def slide(self, keep: int) -> None:
        del self.messages[:-keep]

    @rule()
    def turn_around(self) -> None:
        self.messages.reverse()

    @rule(first=st.booleans())
    def reorder(self, first: bool) -> None:
        self.extra = {"first": text(-2)} if first else {"last": text(-3), "more": 1}
        self.most += 1000

    @rule(at=st.integers(0, 50))
    def mark(self, at: int) -> None:
        for each in self.messages:
            each.pop("cache_control", None)
        if self.messages:
            self.messages[at % len(self.messages)]["cache_control"] = {"type": "ephemeral"}

    @rule()
    def compact(self) -> None:
        self.messages = [{"role": "system", "content": self.new()}, *self.messages[-2:]]

    @rule()
    def image(self) -> None:
        self.messages.append({"role": "user", "content": [{"type": "image", "data": self.new(40_000)}]})

    @rule(data=st.binary(max_size=200))
    def anything(self, data: bytes) -> None:
        self.most += len(data)
        self.keeper.keep(data)

    @invariant()
    def is_kept(self) -> None:
        self.keeper.keep(body(self.messages, **self.extra))
        # Of each message about the place of an edit, its frame at most is new: never its text again.
        self.most += 300 + 120 * len(self.messages)
        assert len(self.keeper.text) <= self.most


TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    max_examples=settings().max_examples * 2 // 5, stateful_step_count=20, deadline=None
)


@given(SMALL, SMALL, SMALL)
def test_both_ends_are_compared_exactly(same: bytes, one: bytes, other: bytes) -> None:
    n = common_head(same + one, same + other)
    assert n >= len(same) and (same + one)[:n] == (same + other)[:n]
    assert n == min(len(same + one), len(same + other)) or (same + one)[n] != (same + other)[n]
    n = common_tail(one + same, other + same, len(one + same), len(other + same))
    assert n >= len(same) and (one + same).endswith((other + same)[len(other + same) - n :])
    assert n == min(len(one + same), len(other + same)) or (one + same)[-n - 1] != (other + same)[-n - 1]


def test_a_history_that_grows_is_kept_once_and_in_few_pieces() -> None:
    messages = [said(n) for n in range(60)]
    keeper = kept([body(messages[:n]) for n in range(1, 61)])
    assert len(keeper.text) < len(body(messages)) + 60 * 4
    assert len(keeper.shape.pieces) <= 4


def test_a_window_that_slides_brings_only_its_new_end() -> None:
    messages = [said(n) for n in range(60)]
    keeper = kept([body(messages[max(0, n - 9) : n]) for n in range(1, 61)])
    assert len(keeper.text) < len(body(messages)) * 1.1


def test_an_edit_in_the_middle_costs_itself() -> None:
    messages = [said(n) for n in range(40)]
    before = body(messages)
    messages[20] = {"role": "user", "content": "edited"}
    assert len(kept([before, body(messages)]).text) < len(before) + 200


def test_keys_and_messages_in_another_order_are_found() -> None:
    messages = [said(n) for n in range(40)]
    before = body(messages, first=text(100), second=text(101))
    after = json.dumps(dict(reversed(json.loads(before).items()))).encode()
    assert len(kept([before, after]).text) < len(before) + 400
    assert len(kept([before, body(messages[::-1])]).text) < len(before) + 40 * 60


def test_marks_that_move_do_not_bring_the_messages_again() -> None:
    versions = []
    for n in range(3, 60):
        messages = [said(each) for each in range(n)]
        for each in messages[-3::2]:
            each["cache_control"] = {"type": "ephemeral"}
        versions.append(body(messages))
    assert len(kept(versions).text) < len(versions[-1]) + 60 * 200


def test_an_image_among_messages_is_kept_once() -> None:
    image = {"role": "user", "content": [{"type": "image", "data": text(7, 300_000)}]}
    versions = [body([said(0), image, *(said(n) for n in range(1, k))]) for k in range(1, 20)]
    assert len(kept(versions).text) < len(versions[-1]) + 1000


def test_screenshots_that_begin_alike_are_kept_once_below_marks_that_move() -> None:
    def shot(n: int) -> dict[str, Any]:
        source = {"type": "base64", "media_type": "image/png", "data": text(-9, 36) + text(n, 20_000)}
        return {"role": "user", "content": [{"type": "image", "source": source}]}

    messages: list[Any] = []
    versions = []
    for n in range(12):
        messages += [said(n), shot(n)]
        marked = json.loads(json.dumps(messages))
        for each in marked[1::2][-3:]:
            each["content"][0]["cache_control"] = {"type": "ephemeral"}
        versions.append(body(marked))
    assert len(kept(versions).text) < len(versions[-1]) + 12 * 200


def test_a_field_that_was_added_is_found_after_another_version() -> None:
    whole = body([said(0)], last=text(-3), more=1)
    once = len(kept([body([said(0)]), whole]).text)
    assert len(kept([body([said(0)]), whole, b"", whole, b"", whole]).text) <= once + 10


def test_a_history_that_was_compacted_and_comes_back_is_found() -> None:
    messages = [said(n) for n in range(40)]
    long, short = body(messages), body([{"role": "user", "content": "in short"}, *messages[-3:]])
    assert len(kept([long, short, long]).text) < len(long) + 300


def test_a_version_is_taken_apart_only_when_another_one_comes() -> None:
    keeper = kept([body([said(0), said(1)])])
    assert not keeper.recent._places
    keeper.keep(b"")
    assert not keeper.recent._places
    before = len(keeper.text)
    keeper.keep(body([said(1), said(0)]))
    assert keeper.recent._places
    assert len(keeper.text) < before + 300


def test_old_text_leaves_memory_and_what_it_held_is_found_no_more_but_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splices, "WINDOW", 10_000)
    keeper = kept([body([said(n), said(n + 1)]) for n in range(100)])
    held, places = keeper.recent._text, keeper.recent._places
    assert len(held) <= 21_000 < len(keeper.text)
    assert all(0 <= at - keeper.recent._origin < len(held) for at in places.values())
    before = len(keeper.text)
    keeper.keep(body([said(0)]))
    assert len(keeper.text) > before + 700


@given(SMALL, st.lists(SMALL, max_size=6))
def test_the_nearest_text_is_the_last_of_those_that_begin_alike_for_longest(body: bytes, others: list[bytes]) -> None:
    others = [*others, *(body[: len(body) // 2] + each for each in others)]
    heads = [common_head(body, each) for each in others]
    most, number = nearest(body, others)
    assert (most, number) == max(((head, at) for at, head in enumerate(heads)), default=(0, -1))
