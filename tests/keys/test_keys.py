"""Two calls have one key when, and only when, they ask the same: formatting never matters, every other change does."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UnreplayableRun
from reenact.facts.keys import Rules, canonical, canonical_body, canonical_url, key

URL = "https://api.example.com/v1/chat"
JSON = [["Content-Type", "application/json"]]

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | st.text(max_size=12)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=6), values, min_size=1, max_size=5)


def head(url: str = URL, headers: list[list[str]] | None = None, method: str = "POST") -> dict[str, Any]:
    return {"method": method, "url": url, "headers": JSON if headers is None else headers}


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        items = list(value.items())
        chance.shuffle(items)
        return {name: shuffled(item, chance) for name, item in items}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(objects)
def test_canonical_bodies_are_their_own_canonical_form(value: Any) -> None:
    once = canonical_body(json.dumps(value).encode(), "application/json")
    assert canonical_body(once, "application/json") == once


@given(
    st.binary(max_size=200),
    st.sampled_from(["", "application/json", "text/plain", "application/x-www-form-urlencoded"]),
)
def test_any_bytes_have_a_canonical_form_and_keep_it(body: bytes, media: str) -> None:
    once = canonical_body(body, media)
    assert canonical_body(once, media) == once


@given(objects, st.randoms(use_true_random=False))
def test_key_order_whitespace_and_escapes_do_not_matter(value: Any, chance: random.Random) -> None:
    left = json.dumps(value).encode()
    right = json.dumps(shuffled(value, chance), indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert key("http/1", head(), left) == key("http/1", head(), right)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] + [path for name, item in members for path in paths(item, (*at, name))]


@given(objects, leaves, st.data())
def test_every_change_of_a_value_is_seen(value: Any, other: Any, data: st.DataObject) -> None:
    changed = copy.deepcopy(value)
    path = data.draw(st.sampled_from(paths(value)[1:]))
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = other
    same_text = json.dumps(value, sort_keys=True) == json.dumps(changed, sort_keys=True)
    left, right = (canonical("http/1", head(), json.dumps(one).encode()) for one in (value, changed))
    assert (left == right) == same_text


@given(objects, st.data())
def test_every_removal_is_seen(value: Any, data: st.DataObject) -> None:
    changed = copy.deepcopy(value)
    path = data.draw(st.sampled_from(paths(value)[1:]))
    place = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    left, right = (canonical("tool/1", {"tool": "t"}, json.dumps(one).encode()) for one in (value, changed))
    assert left != right


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (b'{"a": 1}', b'{"a": 1.0}'),
        (b'{"a": 1.0}', b'{"a": 1.00}'),
        (b'{"a": 1}', b'{"a": "1"}'),
        (b'{"a": 1.5}', b'{"a": "1.5"}'),
        (b'{"a": 1.5}', b'{"a": "\\u00001.5"}'),
        (b'{"a": 0}', b'{"a": -0}'),
        (b'{"a": NaN}', b'{"a": null}'),
        (b'{"a": 1e400}', b'{"a": 1e401}'),
        (b'{"a": 123456789012345678901234567890}', b'{"a": 123456789012345678901234567891}'),
        (b'{"a": ' + b"9" * 5000 + b"}", b'{"a": ' + b"9" * 4999 + b"8}"),
        (b'{"a": 1, "a": 2}', b'{"a": 2}'),
        (b'{"a": 1, "a": 2}', b'{"a": 2, "a": 1}'),
        (b'{"a": [1, 2]}', b'{"a": [2, 1]}'),
        (b'{"a": true}', b'{"a": 1}'),
    ],
)
def test_numbers_keep_their_text_and_repeated_names_their_order(left: bytes, right: bytes) -> None:
    assert canonical("http/1", head(), left) != canonical("http/1", head(), right)


@given(st.binary(min_size=1, max_size=40), st.integers(0, 39))
def test_bytes_that_are_no_json_are_compared_as_they_are(body: bytes, at: int) -> None:
    changed = bytearray(body)
    changed[at % len(body)] ^= 1
    left, right = (canonical("http/1", head(headers=[]), b"\xff" + bytes(one)) for one in (body, changed))
    assert left != right


def test_a_million_brackets_do_no_harm() -> None:
    body = b"[" * 1_000_000
    assert canonical_body(body) == body


@given(st.text("abcdefXYZ0123456789", min_size=8, max_size=30), st.text("abcdefXYZ0123456789", min_size=8, max_size=30))
def test_a_boundary_does_not_matter_and_a_part_does(left: str, right: str) -> None:
    def request(boundary: str, text: str) -> tuple[dict[str, Any], bytes]:
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="f"\r\n\r\n{text}\r\n--{boundary}--\r\n'
        return head(headers=[["Content-Type", f'multipart/form-data; boundary="{boundary}"']]), body.encode()

    assert key("http/1", *request(left, "hello")) == key("http/1", *request(right, "hello"))
    assert key("http/1", *request(left, "hello")) != key("http/1", *request(left, "hullo"))


def test_request_compression_is_undone() -> None:
    body = b'{"question": "where is my order?"}'
    packed = head(headers=[["Content-Encoding", "gzip"], ["Content-Type", "application/json"]])
    assert key("http/1", packed, gzip.compress(body, mtime=1)) == key("http/1", head(), body)
    assert key("http/1", packed, gzip.compress(body + b" ")) == key("http/1", head(), body)
    assert key("http/1", packed, gzip.compress(b"{}")) != key("http/1", head(), body)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("https://h/p?b=1&a=2", "https://h/p?a=2&b=1", True),
        ("https://H:443/p", "HTTPS://h/p", True),
        ("http://h", "http://h/", True),
        ("https://h/p?a=%7e+x", "https://h/p?a=~%20x", True),
        ("https://user:pw@h/p", "https://h/p", True),
        ("https://h/p?a=1&a=2", "https://h/p?a=2&a=1", False),
        ("https://h/p?a=", "https://h/p?a", False),
        ("https://h/p%2Fq", "https://h/p/q", False),
        ("https://h/p?key=users:1", "https://h/p?key=users:2", False),
        ("https://h/p?page_token=abcdef1234567890abcdef", "https://h/p?page_token=abcdef1234567890abcdeg", False),
        (
            "https://h/p?key=AIzaSyA1234567890123456789012345678901",
            "https://h/p?key=AIzaSyB1234567890123456789012345678901",
            True,
        ),
        ("https://h/p?api_key=one", "https://h/p?api_key=two", True),
        ("https://h:8443/p", "https://h/p", False),
        ("http://h/p", "https://h/p", False),
        ("http://[::1]:80/p", "http://[::1]/p", True),
    ],
)
def test_urls(left: str, right: str, same: bool) -> None:
    assert (canonical_url(left) == canonical_url(right)) is same
    assert (key("http/1", head(left), b"") == key("http/1", head(right), b"")) is same


def test_forms_are_sorted_and_their_credentials_equal() -> None:
    form = head(headers=[["content-type", "application/x-www-form-urlencoded"]])
    assert key("http/1", form, b"a=1&client_secret=x&b=2") == key("http/1", form, b"b=2&a=1&client_secret=y")
    assert key("http/1", form, b"a=1&b=2") != key("http/1", form, b"a=1&b=3")


def test_headers_never_matter_and_the_method_does() -> None:
    assert key("http/1", head(headers=[*JSON, ["x-trace", "1"]]), b"{}") == key("http/1", head(), b"{}")
    assert key("http/1", head(method="GET"), b"") != key("http/1", head(method="DELETE"), b"")


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"api_key": "sk-ant-api03-" + "aB3d" * 12}, {"api_key": "placeholder"}),
        ({"text": "use sk-proj-" + "aB3d" * 8}, {"text": "use sk-proj-" + "xY9z" * 8}),
        ({"auth": {"password": "hunter2"}}, {"auth": {"password": "~~~~~~~"}}),
        ({"args": json.dumps({"access_token": "abc"})}, {"args": json.dumps({"access_token": "~rxnabcdefgh~"})}),
    ],
)
def test_credentials_and_their_stand_ins_are_constants(recorded: Any, live: Any) -> None:
    assert key("http/1", head(), json.dumps(recorded).encode()) == key("http/1", head(), json.dumps(live).encode())


def test_ignore_rules_are_applied_and_counted() -> None:
    rules = {"trace": "body.metadata.trace_id", "times": "body.items.*.at", "nonce": "query.nonce"}
    counted: Counter[str] = Counter()
    left = b'{"metadata": {"trace_id": 1, "x": 2}, "items": [{"at": 1}, {"at": 2}]}'
    right = b'{"metadata": {"trace_id": 9, "x": 2}, "items": [{"at": 3}, {}]}'
    one = canonical("http/1", head(URL + "?nonce=1"), left, rules, counted)
    assert one == canonical("http/1", head(URL + "?nonce=2"), right, rules)
    assert counted == {"trace": 1, "times": 2, "nonce": 1}
    assert canonical("http/1", head(), left) != canonical("http/1", head(), right)
    repeated = b'{"metadata": {"trace_id": 1, "trace_id": 2}}'
    assert canonical("http/1", head(), repeated, rules) == canonical("http/1", head(), b'{"metadata": {}}', rules)


def test_a_rule_of_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(UnreplayableRun, match="http/2"):
        canonical("http/2", head(), b"")


def test_other_kinds_compare_head_and_body() -> None:
    assert key("stdin/1", {"n": 1}, b"yes\n") == key("stdin/1", {"n": 1}, b"yes\n")
    assert key("stdin/1", {"n": 1}, b"yes\n") != key("stdin/1", {"n": 1}, b"no\n")
    assert key("process/1", {"argv": ["ls"]}, b"") != key("process/1", {"argv": ["rm"]}, b"")
    assert key("tool/1", {"tool": "a"}, b"{}") != key("tool/1", {"tool": "b"}, b"{}")
    assert key("tool/1", {"tool": "a"}, b"{}", b"one") != key("tool/1", {"tool": "a"}, b"{}", b"two")


def test_rules_find_equal_calls_and_unequal_ones() -> None:
    rules = Rules({"t": "body.t"})
    assert rules.same("http/1", head(), b'{"a":1}', head(), b'{"a":1}')
    assert rules.same("http/1", head(), b'{"a":1,"t":1}', head(headers=[]), b'{"t":2,"a":1}')
    assert not rules.same("http/1", head(), b'{"a":1}', head(), b'{"a":2}')
    assert not rules.same("http/1", head(), b"{}", head(URL + "/x"), b"{}")
    assert rules.ignored == {"t": 2}
    assert rules.key("http/1", head(), b"{}") == key("http/1", head(), b"{}", ignore=rules.ignore)
