"""What is foreseen of many records at once: they are cleaned as they are one by one, and looked through far less."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reenact.facts import credential_search
from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.record import CallIssued, CallSettled, EvidenceNoted, Record
from reenact.privacy import batch_search, make_redactor, text_memory
from tests.noting import noting
from tests.privacy.canaries import FIELDS, LONG, LOOK_ALIKES, SHAPES
from tests.privacy.corpus import cases

SECRET = b"k" * 32
TABLE = f"user,password\nann,{LONG[:20]}\nbob,{LONG[4:24]}\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered of other tests."""
    monkeypatch.setattr(batch_search, "_KNOWN", {})
    monkeypatch.setattr(text_memory, "_HARMLESS", set())


def event(number: int, asked: Any, came: Any, note: Any) -> Iterator[Record]:
    """One call of an import."""
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    answer = came if isinstance(came, bytes) else json.dumps(came).encode()
    call = Call(Kind.MODEL, "gpt-4o-mini", Effect.READ, "traced/1", {}, body, "application/json")
    yield CallIssued(number, 0, number, None, 0, call)
    yield CallSettled(number, 0, Value(answer))
    yield EvidenceNoted(number, "span", note)


def attributes(values: dict[str, Any]) -> dict[str, Any]:
    return {"attributes": [{"key": name, "value": {"stringValue": value}} for name, value in values.items()]}


def entries() -> list[Any]:
    """Objects with credentials in them, with none, and with what looks like one."""
    return [
        *LOOK_ALIKES,
        *({"role": "user", "content": f"see {shape}"} for shape in SHAPES.values()),
        *({name: value, "n": 1} for name, value in FIELDS.items()),
        *({"name": name, "value": value} for name, value in FIELDS.items()),
        *(attributes({"gen_ai.system": "openai", name: value}) for name, value in FIELDS.items()),
        *(
            {"content": text, "n": n}
            for n, text in enumerate((TABLE, "line\nline", "the password is:", 'a } , {"b": 1'))
        ),
        {"content": json.dumps([{"password": "a-b-c-1234"}, {"role": "x"}])},
        *(attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": f"m{n % 3}"}) for n in range(60)),
    ]


def cleaned(records: list[Record], known: KnownCredentials | None, at_once: int) -> list[Record]:
    redactor = make_redactor(SECRET, known) if known else make_redactor(SECRET)
    out: list[Record] = []
    for start in range(0, len(records), at_once or 1):
        some = records[start : start + (at_once or 1)]
        if at_once:
            redactor.foresee(some)
        out += [each for record in some for each in redactor.clean(record)]
    return out + list(redactor.flush())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("known", [None, KnownCredentials({"MY_TOKEN": LONG}, ["MY_TOKEN"])])
def test_records_are_cleaned_as_one_by_one(seed: int, known: KnownCredentials | None) -> None:
    chance = random.Random(seed)
    drawn = chance.choices(entries(), k=300)
    records = [
        record
        for n in range(60)
        for record in event(n, drawn[5 * n], {"messages": drawn[5 * n : 5 * n + 4]}, {"said": drawn[5 * n + 4]})
    ]
    document = {"spans": chance.choices(entries(), k=200)}
    records += event(60, b"", json.dumps(document).encode() + b"\n" + json.dumps(document).encode() + b"\n", {"n": 1})
    alone = cleaned(records, known, 0)
    assert alone != records
    for at_once in (len(records), 50, 7):
        assert cleaned(records, known, at_once) == alone


@pytest.mark.parametrize("part", range(4))
def test_a_credential_in_any_place_is_found_between_texts_that_hold_nothing(part: int) -> None:
    beside = {"model": "gpt-4o-mini", "note": "one line\nanother line, and more"}
    for case in list(cases())[part::40]:
        said = case.place.write(case.field, case.secret)
        text = said if isinstance(said, bytes) else b""
        for asked in (text, {"content": text.decode("utf-8", "replace")}):
            records = [
                *event(0, beside, beside, beside),
                *event(1, asked, {"n": 1}, {}),
                *event(2, beside, beside, beside),
            ]
            assert cleaned(records, None, len(records)) == cleaned(records, None, 0), case.name


def test_a_table_is_read_whatever_the_text_before_it_holds() -> None:
    table = {"content": TABLE, "n": 1}
    for before in ({"content": "line\nline"}, {"content": "a,b\nc,d", "n": 2}, {"content": "1,2\n3,4\n"}):
        for said in ([table], [before, table], {"before": before, "table": table}):
            records = [*event(0, before, b"", before), *event(1, said, said, table)]
            alone = cleaned(records, None, 0)
            assert LONG[:20] not in repr(alone) and LONG[4:24] not in repr(alone), said
            assert cleaned(records, None, len(records)) == alone


def test_texts_in_which_nothing_is_are_looked_through_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = credential_search._spot
    monkeypatch.setattr(credential_search, "_spot", noting(real, lambda data, *_: looked.append(len(data))))
    records = [
        record
        for n in range(100)
        for record in event(
            n, {"id": f"call {n}", "model": "gpt-4o-mini"}, attributes({"n": str(n), "kind": "chat"}), {"n": n}
        )
    ]
    settled = [record.outcome for record in records if isinstance(record, CallSettled)]
    size = sum(len(outcome.body) for outcome in settled if isinstance(outcome, Value))
    assert cleaned(records, None, len(records)) == records
    assert len(looked) < 20, "and not three of each event"
    assert sum(looked) < 2 * size, "what came before is left out"
