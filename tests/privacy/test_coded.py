"""What looks like a key within base64 is chance: bytes, archives and encrypted texts keep every character of theirs."""

from __future__ import annotations

import base64
import os
import random
import string
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import reenact
from reenact.facts import wraps
from reenact.facts.credential_search import spot
from reenact.facts.large_values import LARGE
from reenact.replaying.replay_api import Replay

_ANY = string.ascii_letters + string.digits
KEYS = {
    "Google": "AIza",
    "Meta": "EAAB",
    "Databricks": "dapi",
    "Alibaba": "LTAI",
    "refresh": "1//0",
    "Hugging Face": "hf_",
    "OpenAI": "sk-",
    "Fireworks": "fw_",
    "Replicate": "r8_",
    "Fly": "fm1_",
}


def key(prefix: str, chance: random.Random) -> str:
    """A key of a vendor."""
    return prefix + "".join(chance.choices(_ANY, k=70))


@pytest.mark.parametrize("vendor", KEYS)
@pytest.mark.parametrize("safe", [False, True], ids=["base64", "urlsafe"])
def test_a_key_s_shape_in_base64_is_none_and_alone_it_is_one(vendor: str, safe: bool) -> None:
    chance = random.Random(vendor)
    code = base64.urlsafe_b64encode if safe else base64.b64encode
    before, behind = (code(chance.randbytes(3000)).decode() for _ in range(2))
    found = key(KEYS[vendor], chance)
    for joint in "-_" if safe else "/+":
        if "_" in KEYS[vendor] and joint == "_":
            continue  # one word, then
        assert spot(f'{{"data": "{before}{joint}{found}{behind}"}}'.encode()) == []
    (span,) = spot(f'{{"data": "{found}", "other": "{before}"}}'.encode())
    assert span.end - span.start >= 60
    for way in (
        f"https://host/v1/projects/alpha/keys/{found}/use",
        f"run --with={found}",
        f"a-service-of-ours {found}",
    ):
        assert spot(way.encode()), way


def test_nothing_is_found_in_a_megabyte_of_chance() -> None:
    for seed in (0, 3, 7):  # in each of these something was
        data = random.Random(seed).randbytes(3 << 19)
        for coded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
            assert spot(b'{"data":"' + coded + b'"}') == []


def test_a_webhook_s_word_in_base64_is_none_and_in_an_address_it_is_one() -> None:
    chance = random.Random(11)
    before, behind = (base64.b64encode(chance.randbytes(300)).decode() for _ in range(2))
    path = "".join(chance.choices(_ANY, k=24))
    assert spot(f'{{"data": "{before}+Hook/{path}+{behind}"}}'.encode()) == []
    assert spot(f"https://discord.com/api/webhooks/123456789/{path}".encode())


CHANCE = ("AKIAQ3WX7HT2KLMN5PRS", "Ab//AKIAQ3WX7HT2KLMN5PRS+/", "hOOk/Zq3vT9xKb7LmW2nRc4Yd8sPfQw5A")
"""Base64 that has a key's shape, with hardly anything before or behind it."""


@pytest.mark.parametrize("code", CHANCE)
@pytest.mark.parametrize("tag", ["bytes", "bytearray"])
def test_the_base64_of_bytes_is_no_text(code: str, tag: str) -> None:
    assert spot(f'{{"text": "{code}"}}'.encode()), "it has the shape"
    assert spot(f'[1, {{"~{tag}":"{code}"}}]'.encode()) == []
    plain = base64.b64encode(f"my key is {KEYS['Hugging Face']}{'Zq3vT9xKb7LmW2nRc4Yd8sPf'}".encode()).decode()
    assert spot(f'[1, {{"~{tag}":"{plain}"}}]'.encode()), "of bytes that are a text the text is looked at"


UNLIKELY = b"\xb4Pw=\xcf~\xd0\xf1\xe9\xf6\xe6\xdd\xec\x07"
"""Bytes of chance in which there is a name and its value, as there are in a few hundred megabytes."""
SECRET = "Zq3vT9xKb7LmW2nRc4Yd8sPfQw5A"


@reenact.tool(effect="read")
def given(which: str) -> Any:
    """Bytes that have a key's shape by chance, are no text and hold a value that is known, or both."""
    chance = random.Random(which)
    size = LARGE if which.startswith("large") else 300
    if which.endswith("shape"):
        return chance.randbytes(size - size % 3) + base64.b64decode(f"/hOOk/{SECRET[::-1]}A+") + UNLIKELY
    if which.endswith("known"):
        return chance.randbytes(size) + SECRET.encode() + chance.randbytes(100)
    return [uuid.UUID(os.environ["SERVICE_API_KEY"])]


def asked(which: str, monkeypatch: pytest.MonkeyPatch) -> tuple[reenact.Event, list[Any], Callable[[], Replay]]:
    """A recording of such a tool: its event, what was given, and its replay."""
    monkeypatch.setenv("SERVICE_API_KEY", SECRET if which != "identifier" else "5d2b3f6e-91ac-4e27-8b3d-4f7a5c6e1b20")
    values: list[Any] = []

    def agent() -> None:
        values.append(given(which))

    store = reenact.open_store(f"memory:coded-{which}")
    reenact.record(agent, store=store)()
    (event,) = (each for each in store.events("@") if each.name == "given")
    return event, values, lambda: reenact.replay(store.run("@").id, entry=agent, store=store)


@pytest.mark.parametrize("which", ["shape", "large shape"])
def test_bytes_that_have_a_key_s_shape_by_chance_are_exact(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    event, values, replay = asked(which, monkeypatch)
    assert event.fidelity == "exact"
    replay()
    assert values[0] == values[1]


@pytest.mark.parametrize("which", ["known", "large known"])
def test_a_value_that_is_known_is_found_in_bytes_that_are_no_text(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    event, values, replay = asked(which, monkeypatch)
    assert event.fidelity == "redacted"
    replay()
    assert len(values[1]) == len(values[0]) and SECRET.encode() in values[0] and SECRET.encode() not in values[1]


def test_a_value_that_redaction_left_no_value_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    event, _, replay = asked("identifier", monkeypatch)
    assert event.fidelity == "redacted"
    monkeypatch.delenv("SERVICE_API_KEY")  # with it the replay would have the value
    (difference,) = replay().report.differences
    assert difference.what == "unreplayable" and difference.text.startswith("a recorded uuid was redacted")
    assert "version" not in difference.text


@reenact.tool(effect="read")
def packed() -> bytes:
    """Bytes whose base64 has the shape of keys in it."""
    chance = random.Random(5)
    shapes = [KEYS[vendor] + "".join(chance.choices(_ANY, k=24)) for vendor in ("Meta", "Databricks", "Google")]
    wanted = base64.b64decode("/" + "/".join(shapes) + "/")  # made here: what a source says is removed everywhere
    return chance.randbytes(3000) + wanted + chance.randbytes(3000)


def agent() -> None:
    """Asks for them."""
    seen.append(packed())


seen: list[bytes] = []


def test_bytes_come_back_as_they_were() -> None:
    with reenact.open_store("memory:coded") as store:
        reenact.record(agent, store=store)()
        (event,) = (each for each in store.events("@") if each.name == "packed")
        assert event.fidelity == "exact"
        reenact.replay(store.run("@").id, entry=agent, store=store)
        assert seen[0] == seen[1]


def test_zeros_of_ids_are_not_taken_for_the_first_line_of_a_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = b"00000000: 7061 7373 776f 7264 3d61 6263 3132 3364  password=abc123d\n00000010: 6566 3435 360a  ef456.\n"
    ids = b'{"traceId": "00000000000000000000000000000001", "parent": "0000000000000000"}, ' * 50
    assert [found.wrapped is not None for found in spot(dump)] == [True]
    assert any(found.wrapped is not None for found in spot(ids + b"\n" + dump))

    def never(*_: object) -> None:
        raise AssertionError("a whole text was searched for a dump")

    monkeypatch.setattr(wraps, "DUMPED", SimpleNamespace(search=never))
    assert spot(ids) == []
