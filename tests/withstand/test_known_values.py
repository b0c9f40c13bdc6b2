"""A credential written into a prompt, an argument or the output: absent from disk, matched with the keys unset,
changed or kept, while prompts that hold two different variables, or other words, never match."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.credential_search import normalise
from reenact.facts.credentials import CredentialSort
from reenact.facts.known_credentials import KnownCredentials, placeholder, same_values, telling, token
from reenact.privacy import make_redactor
from reenact.privacy.eraser import Eraser
from tests.withstand.stage import Recorded, record, replay
from tests.withstand.test_secrets import _files, _unpacked

FIRST, SECOND = "plain4key7of9the2shop1", "other8key3of5the6bank0"

AGENT = """
import os, sys
import reenact, requests
URL = os.environ["SHOP_URL"]
key, other = os.environ["OPENAI_API_KEY"], os.environ["BANK_TOKEN"]

@reenact.tool(effect="read")
def look(text):
    return f"looked at {text}"

words = "my key is " + KEY + ", keep it"
print(requests.post(f"{URL}/order", json={"messages": [{"role": "user", "content": words}]}).status_code)
print(requests.post(f"{URL}/order", data="plain text, " + words).status_code)
print(requests.get(f"{URL}/stock", params={"item": KEY}).status_code)
print(look(words + TAIL))
print("and I print it:", key, file=sys.stderr)
"""


def _source(key: str = "key", tail: str = "''") -> str:
    return AGENT.replace("KEY", key).replace("TAIL", tail).replace("OPENAI_API_" + key, "OPENAI_API_KEY")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    run = record("agent", tmp_path_factory.mktemp("run"), source=_source(), OPENAI_API_KEY=FIRST, BANK_TOKEN=SECOND)
    assert run.ended.status == 0, run.ended.err
    return run


@pytest.mark.parametrize(
    "now",
    [{}, {"OPENAI_API_KEY": FIRST, "BANK_TOKEN": SECOND}, {"OPENAI_API_KEY": "now7another8key9here0"}],
    ids=["unset", "the same", "another"],
)
def test_a_key_in_a_prompt_matches_whatever_it_is_now(recorded: Recorded, now: dict[str, str]) -> None:
    ended = replay(recorded, **now)
    assert ended.status == 0, ended.report["differences"]
    assert (ended.report["verdict"], ended.report["matched"]) == ("exact", ended.report["events"])
    assert ended.report["redacted"] >= 4


def test_the_value_reaches_no_file(recorded: Recorded) -> None:
    store = recorded.folder / ".reenact"
    pieces = [(path.name, path.read_bytes()) for path in _files(store)]
    for name, data in [*pieces, *_unpacked(store / "store.db")]:
        assert FIRST.encode() not in data, name


@pytest.mark.parametrize(
    ("key", "tail"), [("other", "''"), ("'no key at all'", "''"), ("key", "'!'"), ("key + key", "''")]
)
def test_another_prompt_still_diverges(recorded: Recorded, tmp_path: Path, key: str, tail: str) -> None:
    script = recorded.script.read_text()
    recorded.script.write_text(_source(key, tail))
    try:
        ended = replay(recorded)
    finally:
        recorded.script.write_text(script)
    assert ended.status == 1 and ended.report["divergence"]["reason"] == "changed", ended.report


def test_two_variables_with_one_value_are_one(tmp_path: Path) -> None:
    source = _source("other")
    run = record("agent", tmp_path, source=source, OPENAI_API_KEY=FIRST, BANK_TOKEN=FIRST)
    assert replay(run).report["verdict"] == "exact"
    assert same_values({"A": "1", "B": "1", "C": "2"}, "ABC") == {"B": "A"}


NAMES = st.from_regex(r"[A-Z][A-Z_]{0,12}_API_KEY", fullmatch=True)
VALUES = st.from_regex(r"[a-z]{4,12}[0-9]{4,12}[A-Za-z0-9_-]{0,20}", fullmatch=True)


@given(NAMES, VALUES, st.text(max_size=40), st.text(max_size=40))
def test_a_value_and_its_placeholder_are_one_token_to_matching(name: str, value: str, left: str, right: str) -> None:
    assert telling(name, value) and telling(name, placeholder(name))
    recorded = make_redactor(secret=b"s", known=KnownCredentials({name: value}, [name]))
    texts = []
    for known, secret, now in ((recorded, b"s", value), (None, None, placeholder(name))):
        eraser = Eraser(secret, KnownCredentials({name: now}, [name]))
        texts.append(normalise(eraser.text(f"{left} {now} {right}".encode())))
        assert known is None or now.encode() not in eraser.text(f"{left} {now} {right}".encode())
    assert texts[0] == texts[1]


@given(NAMES, NAMES, VALUES)
def test_tokens_name_their_variable_at_every_length(one: str, other: str, value: str) -> None:
    assert (normalise(token(one)) == normalise(token(other))) == (one == other)
    fitted = token(one, max(16, len(value)))
    assert len(fitted) == max(16, len(value)) and normalise(fitted) == normalise(token(one)) == token(one)


def test_words_are_no_values() -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-test",
        "DB_PASSWORD": "postgres",
        "MAX_TOKENS": "40960000",
        "SSH_AUTH_SOCK": "/tmp/ssh-12/agent.3",
        "PASSWORD": "two words 1",
        "AUTH_URL": "https://auth.example/1234",
        "TOKENIZERS_PARALLELISM": "false",
    }.items():
        assert not telling(name, value), name


def test_what_holds_a_value_is_erased_whole() -> None:
    known = KnownCredentials({"A_KEY": FIRST}, ["A_KEY"])
    eraser = Eraser(b"s", known)
    whole = eraser.text(b'{"password": "x%sy", "note": "%s"}' % (FIRST.encode(), FIRST.encode()))
    assert FIRST.encode() not in whole and b'"x' not in whole
    assert whole.count(b"~rx") == 2 and b"~rx" + CredentialSort.VALUE.encode() in whole
