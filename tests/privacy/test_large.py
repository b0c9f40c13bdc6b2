"""Large texts: what is behind an encoding is found wherever it is cut, and what is no text stays as it is."""

from __future__ import annotations

import base64
import dataclasses
import json
import random

import pytest

from reenact.facts import credential_search, text_map
from reenact.facts.keys import canonical
from reenact.facts.record import CallIssued, Record, SegmentArrived
from reenact.facts.text_spans import Budget
from reenact.privacy import CredentialRedactor
from tests.noting import noting
from tests.privacy.canaries import LONG, A, arrived, issued
from tests.privacy.corpus_places import body, in_segments, segments
from tests.privacy.measuring import cleaned

WORDS = [
    "the",
    "agent",
    "reads",
    "a",
    "file",
    "and",
    "writes",
    "its",
    "result",
    "to",
    "each",
    "row",
    "of",
    "table",
    "key",
]


def text(size: int, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    return " ".join(chance.choices(WORDS, k=size // 4)).encode()[:size]


def encoded(data: bytes, sort: str) -> bytes:
    if sort == "hex":
        return data.hex().encode()
    if sort == "wrapped":
        return base64.encodebytes(data)
    if sort == "utf-16":
        return data.decode().encode("utf-16-le")
    return base64.b64encode(data)


def decoded(data: bytes, sort: str) -> bytes:
    if sort == "hex":
        return bytes.fromhex(data.decode())
    if sort == "utf-16":
        return data.decode("utf-16-le").encode()
    return base64.b64decode(data)


@pytest.mark.parametrize("sort", ["base64", "wrapped", "hex", "utf-16"])
@pytest.mark.parametrize("size", [700, 5000, 70_000])
def test_a_credential_in_a_long_encoded_answer_is_found_and_nothing_else_changes(sort: str, size: int) -> None:
    at = [text(3000), b" password=%b.1 " % A.encode(), text(150_001), b" ghp_%b " % LONG.encode(), text(90_000)]
    data = encoded(b"".join(at), sort)
    cut = in_segments(arrived(), data, size)
    kept = cleaned(cut)
    assert [len(each) for each in segments(kept)] == [len(each) for each in segments(cut)]
    plain = decoded(body(kept), sort)
    assert A[:8].encode() not in plain
    before, after = b"".join(at), plain
    assert sum(one != other for one, other in zip(before, after, strict=True)) < 100
    assert body(cleaned(kept)) == body(kept)


@pytest.mark.parametrize("sort", ["base64", "wrapped", "hex"])
def test_a_request_of_five_megabytes_is_cleaned_in_pieces_and_compared_as_a_whole(sort: str) -> None:
    def asked(secret: bytes) -> CallIssued:
        document = encoded(text(3_000_000) + b" api_key=%b " % secret + text(900_000), sort)
        return issued(json.dumps({"file": document.decode()}).encode())

    one, other = asked(A.encode()), asked(b"a-9-placeholder0")
    (kept,) = CredentialRedactor(b"x").clean(one)
    assert isinstance(kept, CallIssued)
    assert A[:8].encode() not in decoded(json.loads(kept.call.body)["file"].encode(), sort)
    live = CredentialRedactor(b"y").call(other.call)
    keys = {canonical("http/1", call.head, call.body) for call in (one.call, kept.call, live)}
    assert len(keys) == 1


MEDIA = [
    b"\x89PNG\r\n\x1a\n",
    b"%PDF-1.7\n",
    b"SQLite format 3\0",
    b"PK\3\4",
    b"\xff\xd8\xff\xe0",
    b"RIFF",
    b"\x00\x01",
]


@pytest.mark.parametrize("lead", MEDIA, ids=repr)
def test_what_is_no_text_stays_as_it_is(lead: bytes) -> None:
    data = lead + random.Random(7).randbytes(3_750_000)
    asked = issued(json.dumps({"file": base64.b64encode(data).decode()}).encode())
    assert CredentialRedactor(b"x").clean(asked) == (asked,)
    raw: list[Record] = [
        arrived([("content-type", "application/octet-stream")]),
        SegmentArrived(0, 0, data[:1_000_000]),
    ]
    assert cleaned(raw) == raw


def test_a_page_and_a_database_stay_as_they_are() -> None:
    chance = random.Random(3)
    links = "".join(
        f'<a class="token key" href="/a/b%20c?page={n}&amp;key=x{n}&lang=en"'
        f' data-id="{chance.getrandbits(64):x}">{n}</a>\n'
        for n in range(9000)
    )
    page = f"<html><script>var token=e.token||t.key;</script>{links}</html>".encode()
    assert len(page) > 800_000
    assert cleaned([issued(page)])[0] == issued(page)
    rows = [
        {"id": f"{chance.getrandbits(96):024x}", "name": text(40, n).decode(), "token_count": n, "cache_key": f"k{n}"}
        for n in range(20_000)
    ]
    database = issued(json.dumps({"rows": rows}).encode())
    assert len(database.call.body) > 2_500_000
    assert cleaned([database])[0] == database
    changed = dataclasses.replace(database.call, body=database.call.body.replace(b"k77", b"k78"))
    assert canonical("http/1", changed.head, changed.body) != canonical(
        "http/1", database.call.head, database.call.body
    )


def test_only_the_part_that_holds_too_many_candidates_is_withheld() -> None:
    hostile = "token=" * 60_000
    value = {"before": [text(90_000).decode(), {"api_key": A}], "hostile": hostile, "after": "nothing " * 12_000}
    asked = issued(json.dumps(value).encode())
    (kept,) = CredentialRedactor(b"x").clean(asked)
    assert isinstance(kept, CallIssued)
    stored = json.loads(kept.call.body)
    assert stored["before"][0] == value["before"][0] and stored["after"] == value["after"]
    assert A not in repr(stored) and not stored["hostile"].strip("~")
    live = CredentialRedactor(b"y").call(dataclasses.replace(asked.call))
    assert canonical("http/1", live.head, live.body) == canonical("http/1", kept.call.head, kept.call.body)
    answer: list[Record] = [arrived(), *(SegmentArrived(0, n, b"line of text\n" * 5000) for n in range(2))]
    answer.insert(2, SegmentArrived(0, 2, hostile.encode()))
    given = cleaned(answer)
    before, _, after = segments(given)
    assert before == after.replace(b"~~~~", b"line") == b"line of text\n" * 5000


def patch(lines: int) -> str:
    """A patch of a program that prints in colours: it speaks of escapes, and of a few that stand for nothing."""
    line = '+    print(f\'\\x1b[{code}m{row!r}\\x1b]\', "\\"{name}\\"")  # &lt; \\x7f \x1b \u2014 row %d\n'
    return "".join(line % n for n in range(lines))


@pytest.mark.parametrize("levels", (0, 1, 2, 3))
def test_a_text_full_of_escapes_is_looked_through_once_for_each_level_of_them(levels: int) -> None:
    text = patch(2000)
    for _ in range(levels):
        text = json.dumps({"output": text})
    data = text.encode()
    looked = 0

    class Counting(Budget):
        def read(self, size: int) -> None:
            nonlocal looked
            looked += size
            super().read(size)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(credential_search, "Budget", Counting)
        assert credential_search.spot(data) == []
    assert looked <= 3.5 * len(data)


HIDDEN = (
    "password=Tr0ub4dor\\x2dand\\u002d3xY",
    "api_key: \\u0022sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6\\u0022",
    "&quot;client_secret&quot;: &quot;q8Zr2LmX7vTn4KpW9sYd&quot;",
    "to\x1b[1mken\x1b[0m = ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "https:\\/\\/ann:Hn7-qq_x2Lm9@db.example\\/shop",
    "\\\\u0070assword=Vq7-mm_z9Kp4Rt",
    base64.b64encode(b'{"password": "q8Zr2LmX\\u002d7vTn4KpW9s"}').decode(),
    "Transfer-Encoding: chunked\n\n1a\nsecret_key=Zq8Lm2Xv7T\n0a\nn4KpW9sYd1\n0\n\n",
)


@pytest.mark.parametrize("seed", range(4))
def test_what_stands_behind_a_few_escapes_of_a_long_text_is_found_as_if_all_of_it_were_looked_at(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    lines = [text(chance.randrange(200), n).decode() for n in range(3000)]
    for each in chance.choices(HIDDEN, k=5):
        lines.insert(chance.randrange(len(lines)), each)
    data = "\n".join(lines).encode()
    reached: list[int] = []
    spot = credential_search._spot
    monkeypatch.setattr(credential_search, "_spot", noting(spot, lambda text, *_: reached.append(len(text))))
    around = credential_search.spot(data)
    near = sum(reached)
    monkeypatch.setattr(text_map, "_LONG", len(data) + 1)
    reached.clear()
    assert around == credential_search.spot(data)
    assert len(around) >= 4
    assert near < 1.5 * len(data) < sum(reached), "the lines around them are looked at again, and not all of it"


def test_many_escapes_make_one_view_of_all_of_a_long_text() -> None:
    lines = [f"\x1b[1mline {n}\x1b[0m {'x' * 60}" for n in range(3000)]
    lines[1500] = "pass\x1b[1mword=Tr0ub4dor-\x1b[0mand-3xY"
    (found,) = credential_search.spot("\n".join(lines).encode())
    assert found.end - found.start >= len("Tr0ub4dor-and-3xY")
