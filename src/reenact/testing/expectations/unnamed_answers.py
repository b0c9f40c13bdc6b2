"""Finds the recorded answers that expressions are about, by reading the expressions; nothing is evaluated.

An answer is named by its call (``calls(search)``), by its result (``result(search)``), or by a thing that depends on
it: the state after a step around it, a tool call that a model's answer asked for, or the run's final words. A total
(``tools``, ``tokens``) names none, and Python graders are not read.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from reenact.abc.store import Recording
from reenact.facts.call import Kind, calls_a_tool
from reenact.facts.evaluation import bare
from reenact.facts.event import Event
from reenact.facts.expressions import Expression
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.phrases import counted
from reenact.facts.plumbing import is_plumbing
from reenact.testing.expectations.judgement import ASKED
from reenact.timetravel.conduct import outermost
from reenact.timetravel.model_readings import decision_of, is_model, model_name

_ANSWERING = frozenset((Kind.RETRIEVAL, Kind.HTTP, Kind.WEBSOCKET, Kind.PROCESS, Kind.HUMAN, Kind.DB))
_BY_NAME = frozenset(("args", "before", "calls", "order", "repeats", "result"))
"""The words whose brackets name calls."""
_EVERY = frozenset(("acts", "repeats", "unanswered"))
"""Words that are about every tool, retrieval and plain exchange, unless a text beside them names one."""
_LAST = frozenset(("answer", "judge", "result"))
"""The words about the run's final answer."""


@dataclass(frozen=True, slots=True)
class UnnamedAnswers:
    """Recorded answers of one name that no expression is about.

    Attributes:
        name: The name of the model, or of the call.
        events: Their numbers, in order.
        asks: The tools that these answers of a model asked for, each once.
    """

    name: str
    events: tuple[int, ...]
    asks: tuple[str, ...] = ()

    def __str__(self) -> str:
        asked = f" -> {', '.join(self.asks)}" if self.asks else ""
        where = f"event {self.events[0]}"
        if len(self.events) > 1:
            where = f"{counted(len(self.events), 'answer')} from {where}"
        return f"{self.name}{asked} ({where})"


def unnamed(expressions: Iterable[Expression], recording: Recording) -> tuple[UnnamedAnswers, ...]:
    """The recorded answers that no expression is about, grouped by name, in the order of the run.

    Args:
        expressions: The checked expressions.
        recording: The run whose answers are served.

    Cost: one pass over the events for each name in an expression.
    """
    answers = [event for event in outermost(recording) if _answers(event)]
    named: set[int] = set()
    called: set[str] = set()
    for expression in expressions:
        texts = {node.value for node in ast.walk(expression.root) if isinstance(node, ast.Constant)}
        for word, names in _words(expression.root):
            named.update(_named(word, names, texts, recording, answers))
            called.update(names if word in _BY_NAME else ())
    called |= {event.name for event in answers if event.number in named}
    found: dict[str, list[Event]] = {}
    for event in answers:
        if event.number not in named and not called.intersection(_asked_for(event)):
            found.setdefault(model_name(event) if is_model(event) else event.name, []).append(event)
    return tuple(UnnamedAnswers(name, *_told(events)) for name, events in found.items())


def _told(events: list[Event]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    asks = dict.fromkeys(tool for event in events for tool in _asked_for(event))
    return tuple(event.number for event in events), tuple(asks)


def _answers(event: Event) -> bool:
    """Whether a golden serves an answer for an event: one that was cut off has none."""
    if event.outcome is None:
        return False
    if is_model(event) or calls_a_tool(event.call):
        return True
    return event.kind in _ANSWERING and not is_plumbing(event.call)


def _words(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each word of an expression, with the names in its brackets."""
    match node:
        case ast.Call(func=ast.Name(id=word), args=args) if word in {*_BY_NAME, "state", *ASKED}:
            yield word, tuple(filter(None, map(bare, args))) if word not in ASKED else ()
        case ast.Name(id=word):
            yield word, ()
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _words(child)


def _named(
    word: str, names: tuple[str, ...], texts: Collection[object], recording: Recording, answers: list[Event]
) -> Iterator[int]:
    """The numbers of the events that a word is about. ``texts``: the texts in the same comparison."""
    if word == "state":
        yield from _inside_step(recording, names[0] if names else None)
    elif names:
        yield from (event.number for name in names for event in recording.events(name=name))
    elif word in _EVERY:
        acts = [event for event in answers if not is_model(event)]
        yield from (event.number for event in [each for each in acts if each.name in texts] or acts)
    elif word in _LAST:
        spoken = (event.number for event in reversed(answers) if is_model(event) and not _asked_for(event))
        yield from islice(spoken, 1)


def _inside_step(recording: Recording, name: str | None) -> Iterator[int]:
    """Numbers of the events in the steps of a name, however deep; without a name, in the last step that left a
    state."""
    steps = _last_step(recording) if name is None else recording.events(kinds=[Kind.STEP], name=name)
    within = {step.number for step in steps}
    for event in recording.events():
        if event.parent in within:
            within.add(event.number)
            yield event.number


def _last_step(recording: Recording) -> Iterator[Event]:
    for event in recording.events(kinds=[Kind.STEP], backwards=True):
        if any(recording.checkpoint_slots(event.number, phase) is not None for phase in ("out", "in")):
            yield event
            return


def _asked_for(event: Event) -> tuple[str, ...]:
    """The tools that a model's answer asked for."""
    decision = decision_of(event)
    return () if decision is None else tuple(name for name, _ in decision.tools)
