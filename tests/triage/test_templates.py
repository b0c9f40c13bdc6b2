"""A template is the same for messages of one origin, in any script, and no message can look like another one's."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.templates import LONGEST, MARK, WORDS, parted, template


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("order 4421 not found", "order <*> not found"),
        ("order ORD-77 not found", "order <*> not found"),
        ("'user_id'", "'user_id'"),
        ("no such file: /srv/a/b.txt", "no such file: <*>"),
        ("GET https://api.example.com/v1?x=1 failed", "GET <*> failed"),
        ("Error code: 429 - {'message': 'Limit for org 7'}", "Error code: 429 - {'message': <*>}"),
        ("HTTP/1.1 503 Service Unavailable", "HTTP/<*> 503 Service Unavailable"),
        ("mail to a.b@example.com", "mail to <*>"),
        ("token ~rxkabcd234~ refused", "token <*> refused"),
        ("9f8b7c6a-1b2c-4d5e-8f90-a1b2c3d4e5f6 at 0xff00", "<*> at <*>"),
        ("注文1234が見つかりません", "注文<*>が見つかりません"),
        ("طلب رقم ١٢٣٤ غير موجود", "طلب رقم <*> غير موجود"),
        ("Заказ №1234\n  не найден", "Заказ №<*> не найден"),
        ("", ""),
    ],
)
def test_values_are_left_out_and_words_stay(message: str, wanted: str) -> None:
    assert template(message) == wanted


def test_a_message_that_spells_the_mark_has_none() -> None:
    assert template("order <*> not found") != template("order 4421 not found")


@given(st.text())
def test_any_text_has_a_bounded_template_of_one_line(message: str) -> None:
    found = template(message)
    assert len(found.split(" ")) <= WORDS and len(found) <= WORDS * 61 and not set("\r\n\t") & set(found)
    assert found.replace(MARK, "").count("<") == 0
    assert template(message) == found


def spent(message: str) -> float:
    """Seconds of the processor that a template takes, the least of several tries."""
    tries = []
    for _ in range(9):
        begun = time.process_time()
        template(message)
        tries.append(time.process_time() - begun)
    return min(tries)


@pytest.mark.parametrize("piece", ["a-", "a", "0a", "/", "'", "x@", "~rx", "abc-", "code:", "a://", "_-", "a.b@"])
def test_no_message_takes_long(piece: str) -> None:
    """A message of ten times the length takes ten times as long: a square would take a hundred times."""
    message = (piece * LONGEST)[:LONGEST]
    assert spent(message) < 40 * spent(message[: LONGEST // 10])


def test_the_type_is_parted_from_the_message() -> None:
    assert parted("openai.RateLimitError: Error code: 429") == ("openai.RateLimitError", "Error code: 429")
    assert parted("KeyError") == ("KeyError", "")
    assert parted("it went wrong") == ("", "it went wrong")
    assert parted("RuntimeError: ValueError: a") == ("RuntimeError", "ValueError: a"), "only the first one is the type"
