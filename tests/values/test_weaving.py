"""A woven encoding is the encoding: whatever is handed on, changed a little, and handed on again, by any other name."""

from __future__ import annotations

import copy
import gc
import json
import math
import random
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from reenact.facts import encoding, keys, weaving, woven_text
from reenact.facts.credential_search import normalise, spot, spot_woven
from reenact.facts.states import encode_state
from reenact.facts.text_spans import CredentialSpan
from reenact.facts.woven_text import Woven
from reenact.privacy.crossings import clean_slots
from reenact.privacy.eraser import Eraser
from reenact.store.payloads import compress, decompress

SECRETS = (
    "sk-proj-9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c",
    "Bearer 8f7e6d5c4b3a29181716151413121110",
    "postgres://ann:tr0ub4dor@db.example/orders",
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "AKIAIOSFODNN7EXAMPL2",
    "~rxnfebsaztmnld~",
)
HALVES = (
    "the password: 'abc1",
    "it's",
    "<password>tr0ub4dor",
    "</password>",
    "-----BEGIN PRIVATE KEY-----\nMIIEv! ",
    "-----END PRIVATE KEY-----",
)
"""What begins a credential, and what would end it, in texts that have nothing to do with each other."""
NAMES = ("password", "api_key", "name", "value", "token", "tokens", "note", "id", "~dict", "é", "DB_PASSWORD")


def weave(value: Any) -> Woven | None:
    return weaving.weave(value, encoding._is_within_limits)


texts = some.one_of(some.text(max_size=6), some.sampled_from((*SECRETS, *HALVES)), some.sampled_from(NAMES))
names = some.one_of(some.sampled_from(NAMES), texts, some.integers(0, 30).map("n{}".format))
atoms = some.one_of(
    texts, some.integers(-5, 5), some.booleans(), some.none(), some.floats(), some.integers(), some.just(-0.0)
)
odd = some.one_of(
    some.binary(max_size=3),
    some.binary(max_size=3).map(bytearray),
    some.tuples(some.integers(), some.text(max_size=2)),
    some.frozensets(some.integers(), max_size=3),
    some.dates(),
    some.sampled_from(["\ud800", 10**400, math.nan, {1: 2}, {True: 1}, object()]).map(copy.deepcopy),
)


def trees(leaves: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    return some.recursive(
        leaves,
        lambda held: some.one_of(some.lists(held, max_size=9), some.dictionaries(names, held, max_size=9)),
        max_leaves=60,
    )


plain = trees(atoms)
anything = trees(some.one_of(atoms, atoms, atoms, odd))


@pytest.fixture(autouse=True, scope="module")
def cut_small() -> Iterator[None]:
    """Everything is large, so that each part of a small value is cut, known and put together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weaving, "RUN", 2)
        patch.setattr(weaving, "USUAL", 24)
        patch.setattr(weaving, "LONGEST", 40)
        patch.setattr(woven_text, "REMEMBERED", 4000)
        patch.setattr(woven_text, "BESIDE", 0)
        patch.setattr(encoding, "_SEVERAL", 3)
        yield


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """No test finds what an earlier one has known by an address, where its own values lie now."""
    weaving.forget()
    yield
    weaving.forget()


def test_what_was_unfit_is_tried_again() -> None:
    value: dict[str, Any] = {"list": [1, {2}], "rest": "x" * 90}
    assert weave({"db": value}) is None
    value["list"][1] = 2
    tries = [weave({"db": value}) for _ in range(40)]
    assert tries[0] is None, "it is believed for a while"
    assert tries[-1] == whole({"db": value})[0]


def whole(value: Any) -> tuple[Any, ...]:
    """The encoding in one go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "weave", lambda value, fits, hand=None: None)
        return tuple(encoding.encode(value))


def changed(value: Any, draw: Any) -> Any:
    """The same value with a little of it changed in place."""
    node = value
    while True:
        held = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        deeper = [each for each in held if isinstance(each, (dict, list)) and each]
        if not deeper or draw(some.integers(0, 2)) == 0:
            break
        node = draw(some.sampled_from(deeper))
    if isinstance(node, dict) and node:
        key = draw(some.sampled_from(list(node)))
        if draw(some.booleans()):
            node[key] = draw(atoms)
        else:
            del node[key]
    elif isinstance(node, list):
        node.insert(draw(some.integers(0, len(node))), draw(plain))
    return value


@settings(deadline=None)
@given(anything, some.data())
def test_it_is_the_encoding_however_often_and_whatever_changed(value: Any, data: Any) -> None:
    held = {"db": value, "user": "ann"}
    for again in range(3):
        assert tuple(encoding.encode(held)) == whole(held)
        assert tuple(encoding.encode([value])) == whole([value])
        if again and isinstance(value, (dict, list)):
            changed(value, data.draw)


@settings(deadline=None)
@given(trees(some.one_of(atoms, odd)), trees(some.one_of(atoms, odd)))
def test_one_piece_stands_for_one_encoding(left: Any, right: Any) -> None:
    pieces = []
    for one in (left, right, left, copy.deepcopy(left)):
        try:
            piece = weaving._alone(woven_text.Node(False, 0), [one])
        except (woven_text.NotWoven, ValueError):
            continue
        pieces.append(piece)
        assert b"[%b]" % piece.text == whole([one])[0] and not whole([one])[1:][0]
    if len(pieces) == 4 and whole([left]) != whole([right]):
        assert pieces[0] is pieces[2] is not pieces[1]


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (1, 1.0), (0, False), (0.0, -0.0), ("1", 1), (None, "null"), ([], {}), ("a", b"a"), ((1,), [1])],
)
def test_what_python_takes_for_equal_is_not(left: Any, right: Any) -> None:
    for value in (left, right, left):
        held = {"rows": [value, {"deep": value}, *range(9)]}
        assert tuple(encoding.encode(held)) == whole(held)


def test_references_to_one_thing_are_what_two_equal_things_are() -> None:
    shared = {"street": "Main", "tags": [1, 2]}
    apart = [copy.deepcopy(shared) for _ in range(9)]
    assert encoding.encode([shared] * 9).body == encoding.encode(apart).body == whole(apart)[0]
    knot: list[Any] = [1, 2, 3, 4]
    knot.append(knot)
    assert tuple(encoding.encode(knot)) == whole(knot)
    many: list[Any] = ["x"]
    for _ in range(40):
        many = [many, many, 1, 2]
    assert tuple(encoding.encode(many)) == whole(many)


def test_a_value_that_another_thread_changes_is_never_known_as_what_it_was_not() -> None:
    value: dict[str, Any] = {f"n{n}": {"busy": False, "rest": "x" * 20} for n in range(40)}
    done = threading.Event()

    def toggle() -> None:
        while not done.is_set():
            for held in value.values():
                held["busy"] = not held["busy"]

    other = threading.Thread(target=toggle)
    other.start()
    try:
        for _ in range(200):
            weave({"db": value})
    finally:
        done.set()
        other.join()
    for busy in (True, False):
        for held in value.values():
            held["busy"] = busy
        assert weave({"db": value}) == whole({"db": value})[0]


def test_names_keep_their_values_whatever_another_thread_puts_in_between() -> None:
    value: dict[str, Any] = {f"n{n}": {"is": f"n{n}"} for n in range(40)}
    last = 40

    def meanwhile(frame: Any, what: str, arg: Any) -> Any:
        nonlocal last
        if frame.f_code.co_filename == weaving.__file__:
            if what == "line":
                del value[next(iter(value))]
                value[f"n{last}"] = {"is": f"n{last}"}
                last += 1
            return meanwhile
        return None

    before = sys.gettrace()
    sys.settrace(meanwhile)
    try:
        woven = weave({"db": value})
    finally:
        sys.settrace(before)
    assert woven is not None and all(held["is"] == name for name, held in json.loads(woven)["db"].items())


@pytest.mark.parametrize("raised", [RuntimeError, ValueError, TypeError, KeyError])
def test_what_a_signal_handler_raises_meanwhile_reaches_the_program(
    raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def handler(number: int, frame: Any) -> None:
        raise raised("time is up")

    new = weaving._new

    def interrupted(blob: bytes, node: woven_text.Node) -> woven_text.Piece:
        signal.raise_signal(signal.SIGUSR1)
        return new(blob, node)

    before = signal.signal(signal.SIGUSR1, handler)
    monkeypatch.setattr(weaving, "_new", interrupted)
    try:
        with pytest.raises(raised, match="time is up"):
            encoding.encode({"due": [{"n": n, "by": raised.__name__} for n in range(9)]})
    finally:
        signal.signal(signal.SIGUSR1, before)


@settings(deadline=None)
@given(plain, some.data())
def test_credentials_are_found_in_pieces_as_in_the_whole(value: Any, data: Any) -> None:
    held = {"db": value, "password": "tr0ub4dor&3"}
    for _ in range(3):
        woven = weave(held)
        if woven is not None:
            assert spot_woven(woven) == spot(bytes(woven))
        changed(value, data.draw)


@settings(deadline=None)
@given(some.dictionaries(names.filter(bool), plain, max_size=5), some.data())
def test_they_are_found_so_in_states_and_their_parts(state: dict[str, Any], data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_SOME", 2)
        patch.setattr(weaving, "LONG", 9)
        for _ in range(3):
            look = encode_state(state)
            assert spot(look.body) == (spot_woven(look.body) if type(look.body) is Woven else spot(bytes(look.body)))
            for name, body in look.slots.items():
                if isinstance(body, Woven):
                    named = body.behind(b'"%b":' % name.encode())
                    assert spot_woven(named) == spot(bytes(named))
                    assert clean_slots(Eraser(b"s"), {name: body}) == clean_slots(Eraser(b"s"), {name: bytes(body)})
            changed(state, data.draw)


@settings(deadline=None)
@given(plain, some.data())
def test_keys_are_put_together_as_of_the_whole(value: Any, data: Any) -> None:
    held = {"user": "ann", "db": value}
    for _ in range(3):
        woven = weave(held)
        if woven is not None:
            assert keys.canonical_body(woven) == keys.canonical_body(bytes(woven))
            ignore = {"rule": "body.db.name"}
            assert keys.canonical_body(woven, "", ignore) == keys.canonical_body(bytes(woven), "", ignore)
        changed(value, data.draw)


def test_what_the_last_piece_has_behind_it_counts_only_while_it_is_the_last() -> None:
    first, second = (woven_text.Piece(text, 1, 0, 0, b"") for text in (b'"n":12345', b'"password":"tr0ub4dor&3"'))
    text = b"{%b,%b}" % (first.text, second.text)
    ways: list[list[woven_text.Piece | bytes]] = [
        [b"{", first, b"," + second.text + b"}"],
        [b"{", first, b",", second, b"}"],
    ]
    for parts in ways * 2:
        woven = weaving._put_together(woven_text.Node(True, 0), parts)
        assert woven == text
        assert spot_woven(woven) == spot(text)


def test_a_list_of_credentials_is_never_cut_from_its_name() -> None:
    value = {"api_keys": [f"9f8a7b6c5d4e3f2a1b0c9d8e7f6a{n:04x}" for n in range(40)], "rest": list(range(40))}
    woven = encoding.encode(value).body
    assert isinstance(woven, Woven) and len(woven.places) > 2
    assert spot_woven(woven) == spot(bytes(woven)) and len(spot(bytes(woven))) == 40
    value["names"] = value.pop("api_keys")
    again = encoding.encode(value).body
    assert isinstance(again, Woven)
    assert spot_woven(again) == spot(bytes(again)) == list[CredentialSpan]()


def test_what_is_known_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    weaving.forget()
    value = {f"n{n}": {"text": "x" * 30, "n": n} for n in range(60)}
    encoding.encode({"db": value})
    made: list[bytes] = []
    new = weaving._new

    def counted(blob: bytes, node: woven_text.Node) -> woven_text.Piece:
        made.append(blob)
        return new(blob, node)

    monkeypatch.setattr(weaving, "_new", counted)
    monkeypatch.setattr(woven_text, "REMEMBERED", 1 << 20)
    encoding.encode({"db": value})
    made.clear()
    assert json.loads(encoding.encode({"user": "bob", "db": value}).body)["db"] == value
    before = len(made)
    value["n7"]["n"] = -1
    assert json.loads(encoding.encode({"user": "bob", "db": value}).body)["db"]["n7"]["n"] == -1
    assert (before, len(made)) == (1, 2)  # the other argument, and one piece


def test_what_nobody_uses_is_forgotten() -> None:
    weaving.forget()
    for n in range(300):
        weave([{"n": n, "rest": ["y" * 30, n]} for _ in range(9)])
        assert sum(len(p.text) for g in (weaving._memory.young, weaving._memory.old) for p in g.values()) < 9000


def test_small_pieces_are_forgotten_before_what_stands_beside_them_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    weaving.forget()
    monkeypatch.setattr(woven_text, "BESIDE", 1000)
    for n in range(300):
        weave({"few": {"n": n}, "rest": [1, 2, 3, 4]})
        assert len(weaving._memory.young) + len(weaving._memory.old) < 2 * 4 + 4


@pytest.mark.parametrize("chance", [True, False])
def test_it_is_compressed_as_a_stream_like_any_other(chance: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weaving, "LONGEST", 1 << 16)
    monkeypatch.setattr(weaving, "USUAL", 16 << 10)

    def text(n: int) -> str:
        return random.Random(n).randbytes(400).hex() if chance else "like any other " * 40

    rows: dict[str, dict[str, Any]] = {f"#W{n}": {"text": text(n), "n": n} for n in range(300)}
    value = {"db": rows, "few": [1, 2], "é": "ü" * 50}
    for _ in range(3):
        woven = weave(value)
        assert woven is not None
        how, packed = compress(woven)
        assert decompress(how, packed) == woven == whole(value)[0]
        assert len(packed) < 1.2 * len(compress(bytes(woven))[1]) + 1000
        rows["#W7"]["n"] += 1


def test_what_is_forgotten_is_gone_without_a_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a piece does not hold the piece: a program may have turned collections off."""
    monkeypatch.setattr(weaving, "USUAL", 16 << 10)
    monkeypatch.setattr(weaving, "LONGEST", 1 << 16)
    gc.collect()
    gc.disable()
    try:
        woven = weave([{"n": n, "text": "like any other " * 40} for n in range(300)])
        assert woven is not None and len(woven.places) > 5
        compress(woven)
        spot_woven(woven)
        woven = None
        weaving.forget()
        assert not [held for held in gc.get_objects() if type(held) is woven_text.Piece]
    finally:
        gc.enable()


@settings(deadline=None)
@given(plain)
def test_any_is_read_again_from_what_is_kept(value: Any) -> None:
    woven = weave([value, "x" * 9000])
    assert woven is None or decompress(*compress(woven)) == bytes(woven)


def test_two_large_texts_that_differ_in_stand_ins_are_the_same_call() -> None:
    def body(secret: str, last: str = "z") -> bytes:
        rows = [{"n": n, "text": "y" * 30} for n in range(9000)]
        return encoding.encode({"db": {"rows": rows, "api_key": secret, "last": last}}).body

    head = {"tool": "look"}
    rules = keys.Rules()
    cleaned = body("~rxnfebsaztmnld~")
    assert rules.same("tool/1", head, bytes(cleaned), head, body(SECRETS[0]))
    assert not rules.same("tool/1", head, bytes(cleaned), head, body(SECRETS[0], "a"))
    assert not rules.same("tool/1", head, bytes(cleaned), {"tool": "other"}, body(SECRETS[0]))


def test_normalising_is_as_ever() -> None:
    text = json.dumps({"api_key": SECRETS[0], "other": "~rxnfebsaztmnld~"}).encode()
    assert b"~rxn~" in normalise(text) and SECRETS[0].encode() not in normalise(text)


def test_many_candidates_make_no_difference_between_pieces_and_the_whole() -> None:
    def body(secret: str, first: int = 0) -> bytes:
        rows = [{"key": n % 9 or first} for n in range(40_000)]
        return encoding.encode({"rows": rows, "api_key": secret}).body

    live = body(SECRETS[0])
    assert isinstance(live, Woven) and len(spot_woven(live)) == 1
    assert len(spot(bytes(live))) == 1
    rules = keys.Rules()
    head = {"tool": "look"}
    assert rules.same("tool/1", head, bytes(body("~rxnfebsaztmnld~")), head, live)
    assert not rules.same("tool/1", head, bytes(body("~rxnfebsaztmnld~")), head, body(SECRETS[0], 1))
