"""No credential passes the gate in any form, and nothing that only looks like one is touched."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
import time
from typing import Any
from urllib.parse import quote

import brotli
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Fidelity, Kind, Value
from reenact.facts.credential_search import spot
from reenact.facts.keys import canonical
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    HeadArrived,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Entry, Run
from reenact.privacy import CredentialRedactor, make_redactor
from reenact.privacy.text_memory import Spotter
from tests.privacy.canaries import FIELDS, HEADERS, LOOK_ALIKES, SHAPES, A, arrived, issued, nested

EOF = End(EndKind.EOF)


def gate() -> CredentialRedactor:
    return CredentialRedactor(b"a secret of the run")


def cleaned(*records: Record) -> list[Record]:
    redactor = gate()
    out = [one for record in records for one in redactor.clean(record)]
    return [*out, *redactor.flush()]


def leaks(records: Any) -> bool:
    import base64

    text = repr(records)
    encoded = [
        base64.b64encode(b"user:" + A.encode()).decode()[7:20],
        base64.b64encode(b"u:" + A.encode()).decode()[4:20],
    ]
    return any(piece in text for piece in [A[:10], A[6:], *encoded])


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "form", ["plain", "json", "nested", "deep", "line", "query", "path", "printed", "value", "error"]
)
def test_a_credential_is_known_by_its_shape_in_every_place(name: str, form: str) -> None:
    secret = SHAPES[name]
    at: dict[str, list[Record]] = {
        "plain": [issued(f"use {secret} now".encode())],
        "json": [issued(json.dumps({"messages": [{"content": f"my key:\n{secret}"}]}).encode())],
        "nested": [issued(nested({"x": secret}, 1))],
        "deep": [issued(nested({"x": f"a\n{secret}"}, 3))],
        "line": [issued(b"data: " + json.dumps({"delta": secret}).encode() + b"\n\n")],
        "query": [issued(url="https://h.example/?q=" + quote(secret))],
        "path": [
            issued(url="https://h.example/hook/" + secret) if " " not in secret and "/" not in secret else issued()
        ],
        "printed": [OutputPrinted(1, 0, f"key is {secret}\n".encode())],
        "value": [CallSettled(0, 1, Value(json.dumps({"result": [secret]}).encode()))],
        "error": [
            CallSettled(0, 1, Failure(ErrorFact("E", f"bad {secret}", cause=ErrorFact("F", secret, notes=(secret,)))))
        ],
    }
    assert leaks(at[form]) or form == "path"
    found = cleaned(*at[form])
    assert not leaks(found)
    if form in ("plain", "json", "value"):
        (record,) = found
        assert isinstance(record, CallIssued | CallSettled)
        assert record.fidelity is Fidelity.REDACTED and record.note


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "form", ["json", "pretty", "nested", "deep", "form", "query", "pairs", "list", "printed", "slot", "note"]
)
def test_a_credential_is_known_by_the_name_of_its_field(name: str, form: str) -> None:
    value = FIELDS[name]
    at: dict[str, list[Record]] = {
        "json": [issued(json.dumps({name: value}).encode())],
        "pretty": [issued(json.dumps({"a": 1, name: value, "b": 2}, indent=4).encode())],
        "nested": [issued(nested({name: value + ('"\\\n' if name != "token" else "")}, 1))],
        "deep": [issued(nested({"a": {name: value}}, 3))],
        "form": [
            issued(f"a=1&{name}={value}".encode(), headers=[["content-type", "application/x-www-form-urlencoded"]])
        ],
        "query": [issued(url=f"https://h.example/?a=1&{name}={value}")],
        "pairs": [issued(json.dumps({"env": [{"name": name, "value": value}]}).encode())],
        "list": [issued(json.dumps({name + ("" if name.endswith("s") else "s"): [value, value]}).encode())],
        "printed": [OutputPrinted(1, 0, f"{{'{name}': '{value}'}}\n{name}={value}\n".encode())],
        "slot": [CheckpointTaken(0, "in", {name: json.dumps(value).encode()})],
        "note": [EvidenceNoted(None, name, value)],
    }
    if form == "list" and name.lower().endswith("token"):
        pytest.skip("lists of tokens count as tokens of a text")
    if form in ("list",) and name in ("authorization",):
        pytest.skip("has no plural")
    assert leaks(at[form])
    assert not leaks(cleaned(*at[form]))


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    for record in (issued(headers=[[name, HEADERS[name]]]), arrived([[name, HEADERS[name]]])):
        found = cleaned(record)
        assert not leaks(found)
        assert found[0].fidelity is Fidelity.REDACTED  # type: ignore[union-attr]


def test_a_scheme_stays_and_equal_credentials_have_equal_stand_ins() -> None:
    pairs = [
        ["authorization", HEADERS["Authorization"]],
        ["x-other", HEADERS["Authorization"]],
        ["x-api-key", "x" * 30],
    ]
    (record,) = cleaned(issued(headers=pairs))
    one, two, three = [pair[1] for pair in record.call.head["headers"]]  # type: ignore[union-attr]
    assert one == two != three
    assert one.startswith("Bearer ~rxb")
    (other,) = CredentialRedactor(b"another").clean(issued(headers=pairs))
    assert other.call.head["headers"][0][1] != one  # type: ignore[union-attr]


@pytest.mark.parametrize("value", LOOK_ALIKES, ids=lambda value: next(iter(value)))
def test_what_only_looks_like_a_credential_stays_byte_for_byte(value: Any) -> None:
    for body in (json.dumps(value).encode(), json.dumps(value, indent=2).encode(), nested(value, 2)):
        record = issued(body)
        assert cleaned(record) == [record]
        segments: list[Record] = [arrived(), SegmentArrived(0, 2, body, 2), StreamEnded(0, 3, EOF, 3)]
        assert cleaned(*segments) == segments


def test_the_run_itself_is_cleaned() -> None:
    environment = {
        "env": {"OPENAI_API_KEY": A, "PATH": "/bin", "PWD": "/home", "DB_URL": f"mysql://u:{A}@h/d"},
        "python": "3.12",
    }
    argv = (
        "python",
        "x.py",
        "--password",
        A,
        f"--api-key={A}",
        f"TOKEN_X_SECRET={A}",
        "--max-tokens",
        "12",
        "-k",
        "word",
    )
    run = Run("r", entry=Entry("command", argv=argv), environment=environment, error=f"E: {SHAPES['openai']}")
    opened, closed = cleaned(RunOpened(run), RunClosed(run))
    assert not leaks([opened, closed])
    assert opened.run.environment["env"]["PATH"] == "/bin"  # type: ignore[union-attr]
    assert opened.run.environment["env"]["PWD"] == "/home"  # type: ignore[union-attr]
    assert opened.run.entry.argv[6:] == ("--max-tokens", "12", "-k", "word")  # type: ignore[union-attr]


# -- streams -----------------------------------------------------------------------------------------------------------


def body_of(records: list[Record]) -> bytes:
    return b"".join(one.data for one in records if isinstance(one, SegmentArrived))


def streamed(body: bytes, cuts: list[int], **head: Any) -> list[Record]:
    places = [0, *sorted(cuts), len(body)]
    parts = [body[a:b] for a, b in itertools.pairwise(places)]
    segments = [SegmentArrived(0, n, part, n + 2) for n, part in enumerate(parts)]
    return [arrived(**head), *segments, StreamEnded(0, 99, EOF, 99)]


SSE = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"delta": "hi"},
        {"delta": SHAPES["anthropic"], "password": FIELDS["password"]},
        {"delta": SHAPES["github"]},
    )
)
PRETTY = json.dumps(
    {"note": SHAPES["private key"], "list": [{"api_key": A}, SHAPES["database"]], "z": 1}, indent=2
).encode()


@pytest.mark.parametrize("body", [SSE, PRETTY], ids=["sse", "pretty"])
def test_a_stream_cut_in_two_anywhere_never_leaks_and_keeps_its_lengths(body: bytes) -> None:
    whole = body_of(cleaned(*streamed(body, [])))
    assert not leaks(whole)
    for cut in range(1, len(body)):
        records = streamed(body, [cut])
        found = cleaned(*records)
        assert not leaks(found), cut
        assert body_of(found) == whole, cut
        assert [type(one) for one in found] == [type(one) for one in records]
        assert [len(one.data) for one in found if isinstance(one, SegmentArrived)] == [cut, len(body) - cut]


@settings(max_examples=settings().max_examples * 6 // 5)
@given(st.lists(st.integers(1, len(SSE) - 1), max_size=12))
def test_a_stream_in_any_number_of_pieces_comes_out_the_same(cuts: list[int]) -> None:
    found = cleaned(*streamed(SSE, cuts))
    assert body_of(found) == body_of(cleaned(*streamed(SSE, [])))
    assert not leaks(found)


@settings(max_examples=settings().max_examples * 4 // 5)
@given(st.lists(st.integers(1, 900), max_size=8), st.integers(5, 80))
def test_the_bytes_of_a_connection_stay_framed(cuts: list[int], size: int) -> None:
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(SSE[at : at + size]), SSE[at : at + size]) for at in range(0, len(SSE), size)
    )
    lines = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=" + A.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire = lines + chunks + b"0\r\n\r\n"
    found = cleaned(*streamed(wire, [cut for cut in cuts if cut < len(wire)], framing="wire"))
    out = body_of(found)
    assert len(out) == len(wire)
    assert not leaks(found)
    rest, text = out.partition(b"\r\n\r\n")[2], b""
    while rest:
        length, _, rest = rest.partition(b"\r\n")
        text, rest = text + rest[: int(length, 16)], rest[int(length, 16) + 2 :]
    assert text == body_of(cleaned(*streamed(SSE, [])))


PACKERS = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("framing", ["payload", "wire"])
def test_a_compressed_body_is_stored_decoded_if_it_held_a_credential(encoding: str, framing: str) -> None:
    packed = PACKERS[encoding](SSE)
    headers = [
        ["content-encoding", encoding],
        ["content-type", "text/event-stream"],
        ["content-length", str(len(packed))],
    ]
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers)
    sent = packed if framing == "payload" else b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n" + packed
    found = cleaned(*streamed(sent, [40, 100], headers=headers, framing=framing))
    assert not leaks(found)
    out = body_of(found)
    assert (out if framing == "payload" else out.partition(b"\r\n\r\n")[2]) == body_of(cleaned(*streamed(SSE, [])))
    head = next(one for one in found if isinstance(one, HeadArrived))
    assert "content-encoding" not in dict(head.head["headers"])
    assert head.fidelity is Fidelity.REDACTED
    assert b"content-encoding" not in out


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_clean_compressed_body_stays_as_it_came(encoding: str) -> None:
    packed = PACKERS[encoding](b'{"answer": "42"}' * 50)
    records = streamed(packed, [10, 20], headers=[["content-encoding", encoding]])
    assert cleaned(*records) == records
    cut_off = [*records[:-2], StreamEnded(0, 9, End(EndKind.CLOSED))]
    assert cleaned(*cut_off) == cut_off


def test_a_long_compressed_body_passes_until_it_holds_a_credential() -> None:
    packed = gzip.compress(b"0123456789abcdef\n" * 400_000 + SSE + b"x\n" * 9)
    headers = [["content-encoding", "gzip"]]
    records = streamed(packed, list(range(1000, len(packed), 1000)), headers=headers)
    found = cleaned(*records)
    assert found[1] == records[1]
    assert any(one.fidelity is Fidelity.WITHHELD for one in found if isinstance(one, SegmentArrived))
    assert SHAPES["anthropic"].encode() not in packed


def test_a_request_body_that_is_compressed_is_stored_decoded() -> None:
    headers = [["content-encoding", "gzip"], ["content-type", "application/json"]]
    (record,) = cleaned(issued(gzip.compress(SSE), headers=headers))
    assert not leaks(record) and b"data: " in record.call.body  # type: ignore[union-attr]
    assert "content-encoding" not in dict(record.call.head["headers"])  # type: ignore[union-attr]


def test_media_that_are_no_text_pass() -> None:
    records = streamed(b"\x89PNG" + SSE, [20], headers=[["content-type", "image/png"]])
    assert cleaned(*records) == records


def test_what_the_agent_prints_is_joined_across_writes() -> None:
    text = f"the key is {SHAPES['openai']} and\nAPI_KEY={A}\n".encode()
    whole = b"".join(one.data for one in cleaned(OutputPrinted(1, 0, text)))  # type: ignore[union-attr]
    for cut in range(1, len(text)):
        found = cleaned(OutputPrinted(1, 0, text[:cut]), OutputPrinted(2, 0, b"err\n"), OutputPrinted(1, 0, text[cut:]))
        assert not leaks(found)
        assert b"".join(one.data for one in found if one.stream == 1) == whole  # type: ignore[union-attr]


# -- properties --------------------------------------------------------------------------------------------------------

pieces = st.sampled_from(
    [
        *SHAPES.values(),
        *(json.dumps({name: value}) for name, value in FIELDS.items()),
        "password=",
        "Bearer ",
        '"',
        "\\",
        "\n",
        " ",
        "hello",
        "~rxk",
        "~",
        "token",
        '"api_key": "',
        "https://u:",
        "@h",
        "sk-",
        "}",
    ]
)
texts = st.lists(pieces, max_size=6).map("".join)


@given(texts)
@example("Bearer password=password=")
def test_redacting_twice_changes_nothing(text: str) -> None:
    for body in (text.encode(), json.dumps({"text": text}).encode(), nested({"password": text}, 1)):
        once = cleaned(issued(body))[0]
        assert isinstance(once, type(issued()))
        again = cleaned(once)[0]
        assert again.call.body == once.call.body  # type: ignore[union-attr]


@given(texts)
def test_json_stays_json(text: str) -> None:
    body = json.dumps({"password": text, "messages": [text, {"api_key": text}], "n": 1}).encode()
    (record,) = cleaned(issued(body))
    found = json.loads(record.call.body)  # type: ignore[union-attr]
    assert list(found) == ["password", "messages", "n"]


@given(st.sampled_from(sorted(SHAPES)), st.sampled_from(sorted(FIELDS)))
def test_matching_is_not_disturbed(shape: str, field: str) -> None:
    def call(extra: str) -> Call:
        secret = SHAPES[shape].replace(A, A[:8] + extra)
        body = json.dumps({"text": f"see {secret}", "args": json.dumps({field: FIELDS[field] + extra})}).encode()
        url = f"https://h.example/x?access_token={extra}abc&b=1"
        return dataclasses.replace(issued(body, url).call)

    recorded, live = call("Ab12Cd34"), call("Xy98Zw76")
    if shape == "basic":
        live = recorded
    (stored,) = gate().clean(dataclasses.replace(issued(), call=recorded))
    kept = stored.call  # type: ignore[union-attr]
    keys = {canonical("http/1", one.head, one.body) for one in (recorded, kept, live, gate().call(live))}
    assert len(keys) == 1
    other = dataclasses.replace(live, body=live.body.replace(b"see", b"saw"))
    assert canonical("http/1", other.head, other.body) not in keys


def test_what_cannot_be_cleaned_is_withheld_and_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    import reenact.privacy.text_memory as memory

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    redactor = gate()
    monkeypatch.setattr(memory, "spot", broken)
    (record,) = redactor.clean(issued(SSE))
    assert record.fidelity is Fidelity.WITHHELD and "RuntimeError" in record.note  # type: ignore[union-attr]
    assert not leaks(record)
    run = Run("r", environment={"OPENAI_API_KEY": A, "x": A})
    value = CallSettled(1, 1, Value(SSE))
    for other in (
        value,
        EvidenceNoted(None, "k", A),
        CheckpointTaken(0, "in", {"a": SSE}),
        RunOpened(run),
        RunClosed(run),
    ):
        assert not leaks(redactor.clean(other))


@pytest.mark.parametrize(
    ("begin", "again", "end"),
    [
        (b"", b'"key', b""),
        (b"", b'"password":"', b""),
        (b"", b"token=", b""),
        (b"", b"sk-", b""),
        (b"eyJ", b"a", b""),
        (b"", b"a", b""),
        (b"", b"://a:", b"@"),
        (b"", b"-----BEGIN PRIVATE KEY-----", b""),
        (b"", b"\\", b""),
        (b'"password":"', b"\\", b""),
        (b"", b"Basic Bearer ", b""),
    ],
    ids=lambda part: part.decode(),
)
def test_hostile_input_costs_time_that_grows_with_its_length(begin: bytes, again: bytes, end: bytes) -> None:
    """Eight times the length is eight times the work: what grows with the square is sixty-four times as much."""

    def spent(size: int) -> float:
        body = begin + again * (size // len(again)) + end
        begun = time.process_time()
        assert cleaned(issued(body))
        assert cleaned(*streamed(body, list(range(65536, len(body), 65536))))
        return time.process_time() - begun

    few = min(spent(300_000) for _ in range(2))
    assert spent(2_400_000) < 32 * few


def test_a_redactor_is_made_with_a_secret_of_its_own() -> None:
    one, two = (make_redactor().clean(issued(headers=[["x-api-key", A]]))[0] for _ in range(2))
    assert one != two
    assert make_redactor().rules


bits = st.sampled_from(
    [
        '{"role": "user", "content": "hello there"}',
        '{"password": "hunter2"}',
        SHAPES["github"],
        "}\n",
        "word " * 30,
        ', "api_',
    ]
)


@settings(max_examples=settings().max_examples * 3)
@given(st.lists(bits, max_size=8), st.lists(bits, max_size=8), st.lists(bits, max_size=8), st.integers(0, 400))
def test_remembering_what_was_looked_at_changes_nothing(
    shared: list[str], one: list[str], two: list[str], cut: int
) -> None:
    lead = "{" + "x" * 4100 + " ".join(shared)
    spotter = Spotter()
    for tail in (one, two, one):
        text = (lead + "".join(tail)).encode()[: len(lead) + cut]
        assert spotter.spot(text) == spot(text)


@settings(max_examples=settings().max_examples * 3)
@given(st.lists(st.lists(bits, max_size=4), max_size=6))
def test_what_was_found_harmless_before_hides_nothing(texts: list[list[str]]) -> None:
    spotters = Spotter(), Spotter()
    for text in [*texts, *texts]:
        data = "".join(text).encode()
        assert [spotter.spot(data) for spotter in spotters] == [spot(data)] * 2


def test_a_long_list_of_credentials_is_cleaned_across_segments() -> None:
    body = json.dumps({"api_keys": [f"{A}.{n}" for n in range(60)]}, indent=4).encode()
    for size in (7, 64, 300, 1000):
        assert not leaks(cleaned(*streamed(body, list(range(size, len(body), size)))))


def test_a_head_that_held_nothing_is_looked_at_again_by_whoever_knows_more() -> None:
    """The heads of calls are remembered by the process; a credential of one's own is in none of them."""
    own = "brand-new-9f3k2m8q"
    asked = issued(url=f"https://h.example/v1/{own}", headers=[("x-tenant", own)])
    assert [gate().call(asked.call), gate().call(asked.call)] == [asked.call] * 2, "nobody knows what it is"
    knows = KnownCredentials({"TENANT_TOKEN": own}, ["TENANT_TOKEN"])
    for redactor in (make_redactor(known=knows), make_redactor(known=knows)):
        (record,) = redactor.clean(asked)
        assert own not in repr(record) + repr(redactor.call(asked.call))
    names = make_redactor(known=KnownCredentials({}, (), fields=["x-tenant"]))
    assert own not in repr(names.call(asked.call).head["headers"])
    assert gate().call(asked.call) == asked.call


@pytest.mark.parametrize("part", ["name", "url", "header"])
def test_a_head_that_differs_anywhere_from_one_that_held_nothing_is_looked_at(part: str) -> None:
    before = issued(url="https://h.example/v1/remembered", headers=[("accept", "*/*")])
    secret = SHAPES["anthropic"]
    assert gate().clean(before) == (before,) and gate().clean(before) == (before,)
    call = before.call
    head = {**call.head, "url": f"https://h.example/{secret}"} if part == "url" else dict(call.head)
    head |= {"headers": [["authorization", f"Bearer {secret}"]]} if part == "header" else {}
    altered = dataclasses.replace(call, head=head, name=f"POST {secret}" if part == "name" else call.name)
    assert secret not in repr(gate().clean(dataclasses.replace(before, call=altered)))


def test_what_is_cleaned_by_other_rules_is_remembered_apart() -> None:
    head = {"GITHUB_PAT": "correcthorse7"}
    value = Call(Kind.TOOL, "look", Effect.READ, "value/1", head, b"{}")
    assert [gate().call(value), gate().call(value)] == [value, value]
    assert "correcthorse7" not in repr(gate().call(dataclasses.replace(value, kind=Kind.PROCESS)))


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ("the password: 'abc1", "it's"),
        ("<password>none of it", "a < b"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEv", "-----END PRIVATE KEY-----"),
    ],
)
def test_what_begins_in_one_text_and_would_end_in_another_hides_nothing_between(opens: str, closes: str) -> None:
    value = {
        "note": opens,
        "password": "tr0ub4dor&3",
        "url": "postgres://ann:c0rrect-h0rse@db.example/x",
        "last": closes,
    }
    for body in (value, {"nested": json.dumps(value)}, [value]):
        for text in (json.dumps(body), json.dumps(body, separators=(",", ":"))):
            stored = repr(cleaned(issued(text.encode())))
            assert "tr0ub4dor" not in stored and "c0rrect" not in stored
            assert "nested" in text or closes in stored.replace("\\'", "'")


def test_a_text_that_begins_with_much_white_space_is_looked_through_at_once() -> None:
    assert spot(b" " * 4000 + b"^" * 40) == []
    assert spot((b" " * 60 + b"\n") * 400 + b"x") == []
