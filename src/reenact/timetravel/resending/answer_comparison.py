"""Answers side by side: the recorded answer of the model and each new one, and their difference in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from reenact.facts.call import Json
from reenact.facts.conversations import data_of
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.reading import Reading

_TOKEN: Final = lazy_regex(r"\w+|[^\w\s]")
MOST: Final = 4000
"""The number of tokens of an answer that are compared. The rest counts as different if its length differs."""


def tokens_of(reading: Reading) -> list[str]:
    """The tokens of a model's answer: words, numbers and signs, and each tool that it calls with its arguments. These
    are not the tokens that a provider counts, which differ from model to model."""
    found = _TOKEN.findall(reading.text)
    for call in reading.tool_calls:
        if isinstance(call, Mapping):
            arguments = json.dumps(data_of(call.get("arguments")), sort_keys=True, ensure_ascii=False)
            found += [f"call {call.get('name')}", *_TOKEN.findall(arguments)]
    return found


def distance(before: Sequence[str], after: Sequence[str]) -> int:
    """How many tokens must be added, removed or replaced to make one text of the other (Levenshtein's distance).

    Cost: the product of both lengths, without the common beginning and end.
    """
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    beyond = abs(max(len(left) - MOST, 0) - max(len(right) - MOST, 0))
    left, right = left[:MOST], right[:MOST]
    row = list(range(len(right) + 1))
    for at, token in enumerate(left, 1):
        corner, row[0] = row[0], at
        for n, other in enumerate(right, 1):
            corner, row[n] = row[n], min(row[n] + 1, row[n - 1] + 1, corner + (token != other))
    return row[-1] + beyond


def facts_of(reading: Reading | None) -> dict[str, Json]:
    """The facts of an answer that are compared beside its words."""
    if reading is None:
        return {}
    return {
        "model": reading.model_answered or reading.model_asked,
        "seed": reading.params.get("seed"),
        "fingerprint": reading.params.get("fingerprint"),
        "finish": reading.finish,
        "tokens_in": reading.usage.get("tokens_in"),
        "tokens_out": reading.usage.get("tokens_out"),
    }
