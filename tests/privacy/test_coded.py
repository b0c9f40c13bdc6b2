"""What looks like a key within base64 is chance: bytes, archives and encrypted texts keep every character of theirs."""

from __future__ import annotations

import base64
import random
import string
from types import SimpleNamespace

import pytest

import reenact
from reenact.facts import wraps
from reenact.facts.spotting import spot

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
