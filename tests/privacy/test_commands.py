"""Command lines: what is a credential in one by the options in front of it, and what only looks like one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reenact.facts.call import Call, Effect, Kind
from reenact.facts.keys import canonical
from reenact.facts.record import CallIssued
from reenact.privacy import CredentialRedactor
from reenact.privacy.commands import line_of, secrets_of

P = "hut-Zebra77"

SECRET: list[list[str]] = [
    ["x", "--password", P],
    ["x", f"--password={P}"],
    ["x", f"--db-password:{P}"],
    ["curl", "-u", f"ann:{P}", "https://h.example"],
    ["curl", f"-uann:{P}"],
    ["curl", "--user", f"ann:{P}"],
    ["curl", f"--user=ann:{P}"],
    ["curl", "--proxy-user", f"ann:{P}"],
    ["http", "-a", f"ann:{P}"],
    ["x", f"-p{P}"],
    ["/usr/bin/mysql", "-u", "root", "-phutzebra", "db"],
    ["sshpass", "-p", "hutzebra", "ssh", "host"],
    ["redis-cli", "-a", "hutzebra"],
    ["ldapsearch", "-w", "hutzebra", "-x"],
    ["env", f"PGPASSWORD={P}", "psql"],
    ["7z", "x", "-phutzebra", "a.7z"],
]

HARMLESS: list[list[str]] = [
    ["docker", "run", "-u", "1000:1000", "-p", "8080:80", "image"],
    ["docker", "run", "-u", "www:data", "image"],
    ["ssh", "-p", "2222", "-p2222", "host"],
    ["find", ".", "-print0", "-path", "./a", "-prune"],
    ["python", "-m", "http.server", "-p8000"],
    ["psql", "-p5432", "-U", "ann", "-h", "db"],
    ["mkdir", "-p", "a/b"],
    ["x", "--max-tokens", "12", "-k", "word", "--output", "a:b"],
    ["git", "clone", "git@github.com:owner/repo.git"],
    ["rsync", "-a", "host:/path", "there"],
    ["tar", "-a", "c:d"],
    ["curl", "-u", "ann:", "https://h.example:8080/x"],
    ["x", "-parallel4", "-p../lib"],
]


def redactor() -> CredentialRedactor:
    return CredentialRedactor(b"a secret of the run")


def start(command: Any) -> Call:
    body = json.dumps({"command": command, "cwd": "."}, separators=(",", ":")).encode()
    return Call(Kind.PROCESS, "x", Effect.WRITE, "process/1", {}, body, "application/json")


@pytest.mark.parametrize("words", SECRET, ids=" ".join)
def test_a_credential_is_known_by_its_option(words: list[str]) -> None:
    for command in (words, " ".join(words), " ".join(f"'{word}'" if word.startswith("-") else word for word in words)):
        call = start(command)
        (record,) = redactor().clean(CallIssued(0, 0, 0, None, 0, call))
        assert isinstance(record, CallIssued)
        kept = record.call.body.decode()
        assert P not in kept and "hutzebra" not in kept and "~rx" in kept
        assert "ann" in kept or not any("ann" in word for word in words)
        now = redactor().call(call)
        assert canonical("process/1", {}, record.call.body) == canonical("process/1", {}, now.body)
        assert redactor().clean(record)[0] == record  # a second time changes nothing


@pytest.mark.parametrize("words", HARMLESS, ids=" ".join)
def test_what_only_looks_like_one_stays(words: list[str]) -> None:
    assert secrets_of(words) == [None] * len(words)
    call = start(words)
    assert redactor().call(call) is call


def test_a_line_keeps_its_spaces_and_quotes() -> None:
    line = """cd  a && x --password 'a b "c"' --name "d 'e'" ; y"""
    cleaned = line_of(line, lambda words: ["~" if word == 'a b "c"' else word for word in words])
    assert cleaned == """cd  a && x --password '~' --name "d 'e'" ; y"""
    assert line_of("an 'open quote", list) == "an 'open quote"


def test_another_command_is_another_call() -> None:
    one, other = (
        redactor().call(start(["x", "--password", P, "a"])),
        redactor().call(start(["x", "--password", P, "b"])),
    )
    assert canonical("process/1", {}, one.body) != canonical("process/1", {}, other.body)
