"""Rules about a model's use of its knowledge: ignored errors, ids of other people, unsupported answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.suspicions.event_rules import tool_failed
from reenact.facts.suspicions.run_course import UNREAD, Act, Course, Sort, Suspicion
from reenact.facts.suspicions.suspicion_evidence import SuspicionEvidence, first_unseen, leaves_of

_ADMITS: Final = lazy_regex(
    r"\b(?:errors?|fail\w*|unable|(?:can|could|did|does|do|is|was|were|are|has|have|would|will)(?:not|n['’]t| not)\b|"
    r"sorry|apolog\w*|unfortunately|problems?|issues?|trouble|invalid|incorrect|not (?:found|available|possible|exist)|"
    r"unavailable|no (?:such|longer)|missing|denied|refused|exceed\w*|timed? ?out|try again|however|instead|"
    r"fehler\w*|leider|nicht|erreur|impossible|désolé|malheureusement|lo siento|no (?:se )?(?:pud|pued)\w*|errore|"
    r"purtroppo|infelizmente|não)\b|"
    r"错误|失败|无法|抱歉|エラー|失敗|申し訳|できません|오류|실패|죄송|ошибк|не удалось|к сожалению",
    re.IGNORECASE,
)
"""Words by which an answer says that something went wrong."""
_PERSON: Final = lazy_regex(
    r"(?:\A|_)(?:user|customer|client|account|member|patient|tenant|employee|owner)s?(?:_?(?:id|no|number|uuid|name))?\Z"
)
_ID: Final = lazy_regex(r"(?:\A|_)(?:id|ids|uuid|number|no|code|key|ref|email|iban|sku)\Z")
_OWN: Final = lazy_regex(
    r"(?:request|trace|span|correlation|idempotency|message|session|run|call|event|job|task|client)"
)
_TELLS: Final = lazy_regex(
    r"\b(user|customer|client|account|member|patient|tenant|employee)[ _-]?(?:id|no|number)?\b"
    r"(?:\s+(?:is|was|number)\b|\s*[:=#])\s*[\"'`*#]*([\w@.+-]*\d[\w@.+-]*[\w])",
    re.IGNORECASE,
)
_CAMEL: Final = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


def ignored_error(course: Course) -> Iterator[Suspicion]:
    """Errors of tools that the agent's next answer does not mention."""
    for at, act in enumerate(course.acts):
        if not tool_failed(act):
            continue
        answer = _next_answer(course, at)
        if answer is not None and answer.said is not None and not _ADMITS.search(answer.said.text):
            yield Suspicion(act.event, "ignored-error", f"an error that the answer #{answer.event} does not mention")


def _next_answer(course: Course, at: int) -> Act | None:
    """The next model act in the strand of an act, if it answers and calls no tool."""
    strand = course.acts[at].strand
    for act in course.acts[at + 1 :]:
        if act.said is None or not _continues(strand, act.strand):
            if act.sort is Sort.TOOL and act.strand == strand and not act.quiet:
                return None
            continue
        return act if act.said.text and not act.said.calls else None
    return None


def _continues(inner: str, outer: str) -> bool:
    """Whether ``outer`` is the strand ``inner``, or a strand around it."""
    return inner == outer or inner.startswith((f"{outer}/", f"{outer}>"))


def foreign_id(course: Course) -> Iterator[Suspicion]:
    """Arguments that contradict the input: another person's id than the one given, or an id that was never seen."""
    people = _people(course.given)
    evidence, decided = SuspicionEvidence(), False
    evidence.add(dict(course.given))
    asked: set[str] = set()
    for act in course.acts:
        if act.said is not None:
            evidence.add(act.said.prompt)
            for text in act.said.heard:
                evidence.add(text)
                _learn(people, text)
            asked.update(name for name, _ in act.said.calls)
            decided = True
        if act.sort is Sort.TOOL:
            why = _contradiction(act.args, people, evidence if course.whole and decided and act.name in asked else None)
            if why:
                yield Suspicion(act.event, "foreign-id", why)
            evidence.add(act.args if why == "" and act.args is not UNREAD else None)
            evidence.add(None if act.result is UNREAD else act.result)


def _contradiction(args: Json, people: Mapping[str, set[str]], evidence: SuspicionEvidence | None) -> str:
    if args is UNREAD:
        return ""
    for field, value in leaves_of(args):
        name = _CAMEL.sub("_", field).lower()
        text = str(value).strip()
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not 3 <= len(text) <= 100 or " " in text:
            continue
        if _PERSON.search(name) and not (isinstance(value, str) and text.isalpha()):
            known = people.get(_stem(name))
            if known and text.lower() not in known:
                return f"{field} is {text}, the input says {sorted(known)[0]}"
        has_digit = any(char.isdigit() for char in text)
        looks = (_ID.search(name) or _PERSON.search(name)) and not _OWN.match(name) and has_digit
        if evidence is not None and looks and not evidence.holds_id(text):
            return f"{field} is {text}, which neither the input nor any result holds"
    return ""


def _people(given: Mapping[str, Json]) -> dict[str, set[str]]:
    """The ids of the people that the run is about, by the stem of the field's name."""
    found: dict[str, set[str]] = {}
    for field, value in leaves_of(dict(given)):
        name = _CAMEL.sub("_", field).lower()
        if _PERSON.search(name) and isinstance(value, (str, int)) and not isinstance(value, bool) and str(value):
            found.setdefault(_stem(name), set()).add(str(value).lower())
        if isinstance(value, str):
            _learn(found, value)
    return found


def _learn(people: dict[str, set[str]], text: str) -> None:
    for stem, token in _TELLS.findall(text[:20_000]):
        people.setdefault(stem.lower(), set()).add(token.rstrip(".").lower())


def _stem(name: str) -> str:
    found = _PERSON.search(name)
    word = found[0].strip("_") if found else name
    return re.sub(r"s?_?(?:id|no|number|uuid|name)?\Z", "", word)


def unsupported_answer(course: Course) -> Iterator[Suspicion]:
    """Answers with ids or numbers that neither the conversation nor any result of a tool holds; a hint, since an agent
    may compute. Runs without results of tools are not judged."""
    if not course.whole:
        return
    evidence = SuspicionEvidence()
    evidence.add(dict(course.given))
    for act in course.acts:
        said = act.said
        if said is not None:
            evidence.add(said.prompt)
            for text in said.heard:
                evidence.add(text)
            if said.text and not said.calls and evidence.sources:
                unseen = first_unseen(said.text, evidence)
                if unseen:
                    yield Suspicion(act.event, "unsupported-answer", f"hint: no result holds {unseen}")
            evidence.add(said.text)
            evidence.add([arguments for _, arguments in said.calls])
        elif act.sort is Sort.TOOL:
            evidence.add(None if act.args is UNREAD else act.args)
            evidence.add(None if act.result is UNREAD else act.result, source=act.result not in (UNREAD, None))
