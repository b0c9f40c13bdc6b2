"""A scripted model in one line, over a real socket: its answers in order, and the requests that it expects.

The short way to a ``ScriptedProvider``: real SDKs talk to it as to their provider. The test fails at the end of the
``with`` block if there was a request too many, an answer too many or an unexpected request, even if the code under test
has caught the error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from reenact.errors import GoldenMismatch
from reenact.facts.answers.asks import Ask, ToolUse, Turn
from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.provider.script import Fault, Rule, Script, When
from reenact.testing.provider.server import KEY, ScriptedProvider

__all__ = ["Said", "ScriptedModel", "scripted_model"]

AskCheck = str | When | Callable[[Ask], object]
"""The expected request: a text that the last message of the user or a tool contains, conditions, or a function that
returns False or raises an ``AssertionError`` for another request."""

_REFUSED = Fault("status", status=400)
"""The fault for a refused request: SDKs do not retry after this status."""


@dataclass(frozen=True, slots=True)
class Said:
    """One answer.

    Attributes:
        text: The text of the answer.
        uses: Its tool calls.
        asked: The expected request; any request by default.
        fault: A fault of the connection, in place of the answer or in the middle of it.
    """

    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    asked: AskCheck | None = None
    fault: Fault | None = None


def scripted_model(*answers: str | ToolUse | Sequence[ToolUse] | Said) -> ScriptedModel:
    """A model that gives these answers in order: a server on loopback in a ``with`` statement, and a function.

    Args:
        *answers: Texts, tool calls (several in one list), or ``Said`` for both, for the expected request and for
            faults.
    """
    return ScriptedModel([_said(answer) for answer in answers])


class ScriptedModel:
    """A model with a script, made by ``scripted_model``: a server on loopback while its ``with`` block lasts.

    It can be called too, for agents that take a function as their model: ``model("prompt")`` gives the next answer.

    Attributes:
        asked: The requests so far, in order, in neutral form.
        key: An API key; any will do.
    """

    key = KEY

    def __init__(self, answers: Sequence[Said]) -> None:
        self._answers = list(answers)
        self._next = 0
        self._complaints: list[str] = []
        self._lock = threading.Lock()
        self._taken: dict[int, int] = {}
        rules = [_rule(answer, self._taken, number) for number, answer in enumerate(self._answers)]
        arrival = Rule(when=When(also=self._arrives))
        self._provider = ScriptedProvider(Script((arrival, *rules, Rule(fault=_REFUSED))))
        self.asked: list[Ask] = []

    def __enter__(self) -> Self:
        self._provider.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._provider.stop()
        if error is None or isinstance(error, Exception):
            self.check(everything=error is None, because=error)

    def __call__(self, prompt: str | Sequence[Mapping[str, object]]) -> str | tuple[ToolUse, ...]:
        """The next answer for an agent that takes a function as its model: a text, or tool calls.

        Args:
            prompt: A text, or messages with ``role`` and ``content``.

        Raises:
            GoldenMismatch: Another request was expected, or there are no more answers.
        """
        said = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        system = "\n".join(str(each.get("content", "")) for each in said if each.get("role") == "system")
        turns = tuple(_turn(each) for each in said if each.get("role") != "system")
        ask = Ask("scripted", system, turns)
        self._arrives(ask)
        if id(ask) not in self._taken:
            self.check(everything=False)
        answer = self._answers[self._taken[id(ask)]]
        return answer.uses or answer.text

    @property
    def url(self) -> str:
        """The base URL without a path, as Anthropic's SDK takes it."""
        return self._provider.url

    @property
    def openai_url(self) -> str:
        """Base URL as OpenAI's SDK takes it."""
        return f"{self._provider.url}/v1"

    def environment(self) -> dict[str, str]:
        """Environment variables that point the real SDKs here."""
        return self._provider.environment()

    def check(self, *, everything: bool = True, because: BaseException | None = None) -> None:
        """Fail if a request was not the one in the script.

        Args:
            everything: Whether unused answers are a failure too.
            because: The error that the code under test raised; it becomes the cause.

        Raises:
            GoldenMismatch: With every complaint.
        """
        with self._lock:
            found = list(self._complaints)
            left = self._answers[self._next :]
        if everything and left and not found:
            found.append(f"it was asked {len(self.asked)} times and has {len(left)} more to say: {left[0]}")
        if found:
            raise GoldenMismatch(
                f"the scripted model: {'; '.join(found)}",
                cause="the code under test asks something else than the test says",
                next_command="python -m pydoc reenact.testing.scripted",
            ) from because

    def _arrives(self, ask: Ask) -> bool:
        """Give a request the next answer, if there is one and the request is the expected one. Always False: no rule
        holds."""
        with self._lock:
            self.asked.append(ask)
            number = len(self.asked)
            if self._next >= len(self._answers):
                self._complaints.append(f"request {number} is one too many: {_brief(ask)}")
                return False
            wrong = _objection(self._answers[self._next].asked, ask)
            if wrong:
                self._complaints.append(f"request {number} is {_brief(ask)}, {wrong}")
            else:
                self._taken[id(ask)] = self._next  # the request is kept in `asked`, so no other can have its id
            self._next += 1
            return False


def _rule(answer: Said, taken: Mapping[int, int], number: int) -> Rule:
    """The rule that gives an answer to the request that has taken it."""
    when = When(also=lambda ask: taken.get(id(ask)) == number)
    return Rule(answer.text, answer.uses, when, answer.fault)


def _said(answer: str | ToolUse | Sequence[ToolUse] | Said) -> Said:
    match answer:
        case Said():
            return answer
        case str():
            return Said(answer)
        case ToolUse():
            return Said(uses=(answer,))
    return Said(uses=tuple(answer))


def _objection(expected: AskCheck | None, ask: Ask) -> str:
    """The objection to a request; empty for an expected one."""
    match expected:
        case None:
            return ""
        case str():
            return "" if expected in _last(ask) else f"expected {expected!r} in it"
        case When():
            return "" if expected.holds(ask) else f"expected {expected}"
    try:
        said = expected(ask)
    except AssertionError as error:
        return str(error) or "expected another request"
    return "expected another request" if said is False else ""


def _last(ask: Ask) -> str:
    """The last message of the user or of a tool."""
    return ask.results[-1].text if ask.results else ask.last_user


def _brief(ask: Ask) -> str:
    text = repr(_last(ask))
    return text if len(text) <= 120 else text[:119] + "…"


def _turn(message: Mapping[str, object]) -> Turn:
    role = str(message.get("role", "user"))
    return Turn("assistant" if role == "assistant" else "user", str(message.get("content", "")))
