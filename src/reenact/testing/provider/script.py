"""The content of a world, as data: rules for models, routes for tools, and faults for both.

::

    SCRIPT = Script(
        rules=(
            Rule(uses=(ToolUse("lookup", {"q": "order"}),), when=When(results=False)),
            Rule(say=lambda ask: f"It says: {ask.results[-1].text}"),
        ),
        routes=(Route("/orders", answer={"orders": []}),),
    )

Rules and routes are tried in order and the first that holds answers. Where none holds, a model improvises
(``answer_choice``) and a path is not found. A world *drifts* by rules and routes that hold from a call or a day on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from reenact.facts.answers.asks import Ask, ToolUse
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field

SERVER = "reenact-scripted-provider"
"""The value of the ``Server`` header."""

CONTROL = "/-/"
"""Path of the world's own endpoint: GET shows the counts and the day, POST ``{"day": 2}`` sets the day."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong on the way to the client; see the functions below for the usual ones.

    Attributes:
        kind: ``status`` answers with ``status`` in place of the answer; ``silent`` hangs up without a byte;
            ``reset`` and ``truncated`` break off the answer after ``after`` pieces, by a TCP reset or by a plain
            end; ``slow`` waits ``pause_s`` before each piece; ``refused`` hangs up and closes the door for good.
        status: HTTP status, for ``status``.
        half: Whether only the first half of the error's JSON is sent, well framed: a parser breaks, not a transport.
        retry_after_s: The ``Retry-After`` header in seconds; None sends none.
        after: Pieces sent before the break: events of a stream, or 16-byte pieces of a plain body.
        pause_s: Seconds waited before each piece.
    """

    kind: Literal["status", "silent", "reset", "truncated", "slow", "refused"]
    status: int = 500
    half: bool = False
    retry_after_s: float | None = None
    after: int = 2
    pause_s: float = 0.0


def rate_limited(retry_after_s: float | None = 0, *, half: bool = True) -> Fault:
    """429 with (by default) half a JSON body and a ``Retry-After`` in seconds."""
    return Fault("status", status=429, half=half, retry_after_s=retry_after_s)


def server_error(status: int = 500, *, half: bool = False) -> Fault:
    """An error of the server; 529 is what Anthropic calls overloaded."""
    return Fault("status", status=status, half=half)


def reset(after: int = 2) -> Fault:
    """The connection is reset after ``after`` pieces of the answer."""
    return Fault("reset", after=after)


def truncated(after: int = 2) -> Fault:
    """The answer ends early, after ``after`` pieces, without the end its framing promised."""
    return Fault("truncated", after=after)


def slow(pause_s: float) -> Fault:
    """Each piece of the answer comes ``pause_s`` seconds after the one before."""
    return Fault("slow", pause_s=pause_s)


def silent() -> Fault:
    """The server hangs up without having sent a byte."""
    return Fault("silent")


def refused() -> Fault:
    """The server hangs up, and from then on every new connection is refused."""
    return Fault("refused")


@dataclass(frozen=True, slots=True)
class When:
    """When a rule holds: every condition that is given must hold.

    Attributes:
        system: Text that the system prompt contains, in any case.
        last_user: Text that the last user message contains, in any case.
        model: The beginning of the model's name.
        tool: Name of a tool that is offered.
        results: Whether there must be tool results after the last user message; None allows both.
        result: Text that the last tool result contains.
        from_call: First call of that path (1 is the first) for which it holds.
        to_call: Last such call; None for no end.
        from_day: First day of the world for which it holds.
        to_day: Last such day; None for no end.
        also: Any further condition.
    """

    system: str = ""
    last_user: str = ""
    model: str = ""
    tool: str = ""
    results: bool | None = None
    result: str = ""
    from_call: int = 1
    to_call: int | None = None
    from_day: int = 1
    to_day: int | None = None
    also: Callable[[Ask], bool] | None = None

    def holds(self, ask: Ask) -> bool:
        """Whether every condition holds for ``ask``."""
        return (
            self.system.lower() in ask.system.lower()
            and self.last_user.lower() in ask.last_user.lower()
            and ask.model.startswith(self.model)
            and (not self.tool or any(tool.name == self.tool for tool in ask.tools))
            and (self.results is None or self.results == bool(ask.results))
            and (not self.result or (bool(ask.results) and self.result in ask.results[-1].text))
            and within(ask.call, self.from_call, self.to_call)
            and within(ask.day, self.from_day, self.to_day)
            and (self.also is None or self.also(ask))
        )


def within(number: int, first: int, last: int | None) -> bool:
    """Whether ``first <= number <= last``, where None is no end."""
    return first <= number and (last is None or number <= last)


@dataclass(frozen=True, slots=True)
class Rule:
    """One possible answer of a model.

    Attributes:
        say: The answer's text; several texts are alternatives (the first at temperature 0, else one is drawn: by
            the seed if the request has one, else at each call); or a function of the request that gives either.
        uses: Tool calls of the answer, after its text.
        when: When the rule holds; always by default.
        fault: The fault in that answer.
    """

    say: str | tuple[str, ...] | Callable[[Ask], str | tuple[str, ...]] = ""
    uses: tuple[ToolUse, ...] | Callable[[Ask], tuple[ToolUse, ...]] = ()
    when: When = field(default_factory=When)
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a tool's endpoint.

    Attributes:
        method: Upper case.
        path: Without the query.
        query: The query's parameters; the last value of a name counts.
        body: The decoded JSON body, None without one.
        call: The number of the request among those to this path, from 1.
        day: The world's day.
    """

    method: str
    path: str
    query: Mapping[str, str]
    body: Json
    call: int
    day: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes:
        status: HTTP status.
        headers: Further header lines; the framing is added when it is written.
        body: The body, when it is sent whole.
        frames: The pieces of a streamed body, one chunk each; None for a body that is sent whole.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    frames: Iterable[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """One JSON endpoint of a tool.

    Attributes:
        path: Exact path.
        answer: JSON-able data, or a function of the visit that gives it or a whole ``Reply``.
        method: Upper case; empty for any.
        query: Parameters that the query must have; None as value wants the parameter absent.
        status: HTTP status of an answer that is data.
        from_call: First request to this path for which it holds; ``to_call`` the last, None for no end.
        to_call: See ``from_call``.
        from_day: First day of the world for which it holds; ``to_day`` the last, None for no end.
        to_day: See ``from_day``.
        fault: The fault in the answer.
    """

    path: str
    answer: Json | Callable[[Visit], Json | Reply] = None
    method: str = "GET"
    query: Mapping[str, str | None] = field(default_factory=dict)
    status: int = 200
    from_call: int = 1
    to_call: int | None = None
    from_day: int = 1
    to_day: int | None = None
    fault: Fault | None = None

    def holds(self, visit: Visit) -> bool:
        """Whether this route answers ``visit``."""
        return (
            visit.path == self.path
            and self.method in {"", visit.method}
            and all(visit.query.get(name) == value for name, value in self.query.items())
            and within(visit.call, self.from_call, self.to_call)
            and within(visit.day, self.from_day, self.to_day)
        )


@dataclass(frozen=True, slots=True)
class Script:
    """A world: the answers of models and tools.

    Attributes:
        rules: The answers of models, tried in order before they improvise.
        routes: Endpoints of tools, tried in order.
        stable_ids: Whether equal requests with equal answers get equal ids and times of creation. Real providers make
            new ones for each call, and so does this one by default.
    """

    rules: tuple[Rule, ...] = ()
    routes: tuple[Route, ...] = ()
    stable_ids: bool = False
