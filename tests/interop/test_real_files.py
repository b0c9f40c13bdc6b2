"""Recordings that others have made with other tools are read to the byte, and a real client replays against each."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import reenact
from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.facts.run import Run
from reenact.interop import archives, cassettes
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions
from tests.interop.conftest import Bring


def imported(bring: Bring, form: str, path: Path) -> tuple[Run, tuple[ImportedExchange, ...]]:
    (run,) = bring(form, path)
    ((found,), _) = read(form, path, ReaderOptions())
    assert isinstance(found, ExchangesOfRun)
    return run, found.exchanges


def answers(exchanges: tuple[ImportedExchange, ...]) -> list[bytes]:
    """What a real client is given for each of these questions."""
    with httpx.Client() as client:
        given = []
        for each in exchanges:
            answer = client.request(each.method, each.url, headers=list(each.asked), content=each.body)
            assert answer.status_code == each.status
            given.append(answer.content)
    return given


def expected(item: Any) -> bytes:
    """The decoded body that a cassette says was answered, read by PyYAML and nothing of ours."""
    response = item["response"]
    if "parsed_body" in response:
        return json.dumps(response["parsed_body"]).encode()
    text = response["body"]["string"]
    return text if isinstance(text, bytes) else text.encode()


WIRE = ["anthropic", "bedrock", "google", "groq", "openai", "openai_responses"]


@pytest.mark.parametrize("provider", WIRE)
def test_every_cassette_of_real_providers_replays(shared_data: Path, store: Store, bring: Bring, provider: str) -> None:
    paths = sorted((shared_data / "wire").glob(f"{provider}__*.yaml"))
    assert paths
    for path in paths:
        items = yaml.safe_load(path.read_bytes())["interactions"]
        run, exchanges = imported(bring, "vcr", path)
        assert len(exchanges) == len(items)
        assert run.totals.models == len([each for each in exchanges if "/conversations" not in each.url])
        replayed = reenact.replay(run, entry=lambda asked=exchanges: answers(asked), store=store)
        if not run.capture["import"]["remarks"] or replayed.fidelity == "exact":
            assert replayed.output == [expected(item) for item in items]
        assert (replayed.matched, replayed.unused, replayed.verdict) == (len(items), 0, "same")


def test_a_redirect_of_long_ago_is_followed_and_unpacked(shared_data: Path, store: Store, bring: Bring) -> None:
    run, exchanges = imported(bring, "vcr", shared_data / "formats" / "vcr" / "domain_redirect.yaml")
    assert [each.status for each in exchanges] == [301, 200]

    def entry() -> tuple[list[str], bool]:
        answer = httpx.get("http://seomoz.org/", follow_redirects=True)
        return [str(each.url) for each in (*answer.history, answer)], answer.text.startswith("<!DOCTYPE html>")

    replayed = reenact.replay(run, entry=entry, store=store)
    assert replayed.output == (["http://seomoz.org/", "http://moz.com/"], True)
    assert replayed.matched == 2


def test_a_cassette_from_before_version_1_is_read(shared_data: Path, store: Store, bring: Bring) -> None:
    run, (only,) = imported(bring, "vcr", shared_data / "formats" / "vcr" / "old_cassette.json")
    assert (only.method, only.url, only.status) == ("GET", "http://httpbin.org/ip", 200)
    assert ("server", "gunicorn/0.17.4") in only.headers
    assert run.capture["import"]["format"] == "vcr (before 1.0)"
    assert run.environment["clock"][0] == 1398122020000000  # what the server's Date said
    replayed = reenact.replay(run, entry=lambda: httpx.get("http://httpbin.org/ip").json(), store=store)
    assert replayed.output == {"origin": "217.122.164.194"}


def test_archives_of_browsers_are_read(shared_data: Path, store: Store, bring: Bring) -> None:
    run, (page,) = imported(bring, "har", shared_data / "formats" / "har" / "single_entry.har")
    assert page.answer[:2] == b"\x1f\x8b", "the archive keeps it decoded, and its headers say gzip"
    kept = json.loads((shared_data / "formats" / "har" / "single_entry.har").read_bytes())
    text = kept["response"]["content"]["text"]
    replayed = reenact.replay(run, entry=lambda: httpx.get("http://humanssuck.net/").text, store=store)
    assert replayed.output == text
    assert (page.at_us, page.first_us, page.ended_us) == (1424662092136000, 153000, 153000)


def test_an_archive_without_all_its_bodies_is_refused_but_for_a_part_of_it(shared_data: Path) -> None:
    data = (shared_data / "formats" / "har" / "humanssuck.net.har").read_bytes()
    with pytest.raises(InteropError, match=r"entry 2: the body of its answer \(23591 bytes\) was not kept"):
        archives.read(data)
    (style,) = archives.read(data, "http://humanssuck.net/test.css").exchanges
    assert (style.answer, style.at_us) == (b"testing\n", 1424662092319000)


def test_a_list_that_was_written_under_python_2_is_read_without_its_objects() -> None:
    text = """
- request: !!python/object:vcr.request.Request
    body: null
    headers: !!python/object/apply:__builtin__.frozenset
    - - !!python/tuple [accept, '*/*']
      - !!python/tuple [user-agent, old]
    host: example.test
    method: GET
    path: /ip
    port: 8080
    protocol: http
  response:
    body: {string: !!python/unicode "here"}
    headers: [!!python/unicode "x-one: 1\\r\\n", !!python/unicode "content-length: 4\\r\\n"]
    status: {code: 200, message: OK}
"""
    (old,) = cassettes.read(text.encode()).exchanges
    assert (old.url, old.answer) == ("http://example.test:8080/ip", b"here")
    assert old.asked == (("accept", "*/*"), ("user-agent", "old"))
    assert old.headers == (("x-one", "1"), ("content-length", "4"))


def test_both_shapes_of_httpx_answers_and_rubys_cassettes_are_read() -> None:
    older = {
        "version": 1,
        "interactions": [
            {
                "request": {"method": "GET", "uri": "https://h/x", "headers": {}, "body": ""},
                "response": {
                    "http_version": "HTTP/1.1",
                    "status_code": 200,
                    "headers": {"content-encoding": ["gzip"], "content-length": ["99"], "x": ["1", "2"]},
                    "content": '{"a": 1}',
                },
            }
        ],
    }
    (exchange,) = cassettes.read(json.dumps(older).encode()).exchanges
    assert exchange.version == "HTTP/1.1"
    assert exchange.headers[2:] == (("x", "1"), ("x", "2"))
    assert exchange.answer.startswith(b"\x1f\x8b")
    assert ("content-length", str(len(exchange.answer))) in exchange.headers
    ruby = f"""
http_interactions:
- request: {{method: post, uri: 'http://h/', body: {{encoding: UTF-8, string: 'ü'}}, headers: {{}}}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{Content-Type: [text/plain]}}
    body: {{encoding: ISO-8859-1, string: 'ü'}}
    http_version: '1.1'
  recorded_at: Mon, 21 Apr 2014 23:13:40 GMT
- request: {{method: get, uri: 'http://h/', body: {{base64_string: '{base64.b64encode(b"a").decode()}'}}}}
  response: {{status: {{code: 204}}, body: {{string: !binary '/wA='}}}}
recorded_with: VCR 6.0.0
"""
    first, second = cassettes.read(ruby.encode()).exchanges
    assert (first.method, first.body, first.answer) == ("POST", "ü".encode(), b"\xfc")
    assert (first.version, first.at_us) == ("HTTP/1.1", 1398122020000000)
    assert (second.body, second.answer) == (b"a", b"\xff\x00")
