"""Rules about one event alone: it failed, its body is not whole, a limit refused it, another model answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.suspicions.run_course import UNREAD, Act, Course, ModelTurn, Sort, Suspicion

_FIRST_BAD_STATUS: Final = 400
_TOO_MANY: Final = 429
_EDGE_S: Final = 120
_HOUR_S: Final = 3600
_MICROSECONDS: Final = 1_000_000
_LIMITS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Words of providers for an answer that ended at its limit of tokens; compared in small letters."""
_OWN_NAMES: Final = frozenset({"azure"})
"""Providers whose customers name their models as they like."""
_FENCE: Final = lazy_regex(r"\A\s*```\w*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_RELEASE: Final = lazy_regex(
    r"[-@:._]?(?:v?\d[\d.:-]*|latest|preview|exp|v\d+)(?:[-:.](?:v?\d[\d.:-]*|latest|preview))*\Z"
)
_REGION: Final = lazy_regex(r"\A(?:us|eu|apac|global|us-gov|jp|au)\.(?=[a-z0-9]+\.)")
_MAKER: Final = lazy_regex(r"\A(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai)\.")


def failure(course: Course) -> Iterator[Suspicion]:
    """Calls that raised, were refused, got no answer, or broke off."""
    for act in course.acts:
        why = _failure(act)
        if why:
            yield Suspicion(act.event, "failure", why)


def _failure(act: Act) -> str:
    if act.error:
        return "error"
    if not act.answered:
        return "" if act.observed and act.kind != "step" else "no answer"
    if act.status is not None and act.status >= _FIRST_BAD_STATUS:
        return f"status {act.status}"
    return act.ending


def hour_limit(course: Course) -> Iterator[Suspicion]:
    """Answers 429 within two minutes of a full hour (UTC), where quotas begin again and clients wake up together."""
    for act in course.acts:
        if act.status == _TOO_MANY and act.at_us:
            past = act.at_us // _MICROSECONDS % _HOUR_S
            if min(past, _HOUR_S - past) <= _EDGE_S:
                when = datetime.fromtimestamp(act.at_us // _MICROSECONDS, UTC)
                yield Suspicion(act.event, "hour-limit", f"429 at the edge of an hour, {when:%H:%M:%S} UTC")


def cut_off(course: Course) -> Iterator[Suspicion]:
    """Bodies that are cut off, or are not JSON where JSON was promised."""
    for act in course.acts:
        why = _said_cut(act.said) if act.said is not None else _body_cut(act)
        if why:
            yield Suspicion(act.event, "cut-off", why)


def _body_cut(act: Act) -> str:
    if act.missing > 0:
        return f"cut off: {act.missing} bytes missing"
    if not act.answered or act.ending or act.error or not isinstance(act.result, str):
        return ""
    if act.json and act.result.strip() and not all(is_json(line) for line in act.result.splitlines() if line.strip()):
        return "not JSON, as its header says"
    return "cut off: JSON that does not end" if is_cut(act.result) else ""


def _said_cut(said: ModelTurn) -> str:
    if said.finish.lower() in _LIMITS:
        return "cut off at its limit of tokens"
    if any(isinstance(arguments, str) and is_cut(arguments) for _, arguments in said.calls):
        return "arguments of a tool are cut off"
    if said.partial:
        return "cut off, or not what its protocol says"
    if said.promised_json and said.text and not said.calls and not is_json(said.text):
        return "not JSON, as was asked for"
    return ""


def is_json(text: str) -> bool:
    """Whether a text is JSON. It may have a fence of Markdown around it."""
    fenced = _FENCE.match(text)
    try:
        json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return False
    return True


def is_cut(text: str) -> bool:
    """Whether a text begins as JSON data and does not end."""
    plain = text.strip()
    if plain[:2] not in ('{"', "[{", "[[", '["') and not re.match(r"[{\[]\s+[\"{\[]", plain):
        return False
    try:
        json.loads(plain)
    except ValueError as error:
        return getattr(error, "pos", 0) >= len(plain) - 1 or "Unterminated" in str(error)
    except RecursionError:
        return False
    return False


def other_model(course: Course) -> Iterator[Suspicion]:
    """Answers of another model than the requested one. A dated release of the requested name is the same model."""
    for act in course.acts:
        said = act.said
        if said is None or not said.asked or not said.answered or said.provider in _OWN_NAMES:
            continue
        if not is_same_model(said.asked, said.answered):
            yield Suspicion(act.event, "other-model", f"asked {said.asked}, {said.answered} answered")


def is_same_model(asked: str, answered: str) -> bool:
    """Whether two names are of one model: the names are equal, or one is the other with a date, a version or an alias
    added. Paths, regions and makers before the name do not count."""
    left, right = _plain(asked), _plain(answered)
    if left == right or left.startswith(("arn:", "ft:")) or right.startswith(("arn:", "ft:")):
        return True
    return _family(left) == _family(right) and (not _dated(left, right))


def _plain(name: str) -> str:
    last = name.strip().lower()
    last = last if last.startswith("arn:") else last.rpartition("/")[2]
    return _MAKER.sub("", _REGION.sub("", last))


def _family(name: str) -> str:
    """A name without the release at its end. A release is a number of three digits or more, a date, or an alias."""
    match = re.search(r"[-@:](?:\d{4}(?:-?\d\d){0,2}|\d{3,8}|latest|preview)(?:[-:.]\S*)?\Z", name)
    return name[: match.start()] if match else name.removesuffix(":latest")


def _dated(left: str, right: str) -> bool:
    """Whether both names have a release, and the two releases differ: then another release answered than the requested
    one."""
    ends = [name[len(_family(name)) :].strip("-@:") for name in (left, right)]
    fixed = [end for end in ends if re.match(r"\d", end)]
    return len(fixed) == 2 and not (fixed[0].startswith(fixed[1]) or fixed[1].startswith(fixed[0]))


ERROR_WORDS: Final = lazy_regex(
    r"\A\W*(?:error\b|failed\b|failure\b|exception\b|traceback\b|[\w.]*(?:Error|Exception)\b\s*[:(]|"
    r"exit ?(?:code|status):? ?[1-9])",
    re.IGNORECASE,
)
"""The beginning of a text by which a tool reports that it failed."""


def tool_failed(act: Act) -> bool:
    """Whether a tool failed: it raised, was refused, or gave an error as its result."""
    if act.sort is not Sort.TOOL:
        return False
    if act.error or (act.status is not None and act.status >= _FIRST_BAD_STATUS):
        return True
    return act.result is not UNREAD and is_error(act.result)


def is_error(result: Json) -> bool:
    """Whether a result reports a failure: it has a field ``error`` or ``isError``, or a text that begins like an
    error."""
    if isinstance(result, Mapping):
        flag = result.get("isError", result.get("is_error"))
        content = result.get("error") or result.get("exception")
        return flag is True or bool(content) or str(result.get("status")).lower() in ("error", "failed", "failure")
    return isinstance(result, str) and ERROR_WORDS.match(result[:200]) is not None
