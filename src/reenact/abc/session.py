"""The contract between a seam and a session.

A seam describes a crossing as a ``Call`` and asks its session for a ``Crossing``. There are three answers, and a seam
treats them alike in every session:

- ``Live``: perform the call, and report its result. (Recording; a fork past its cut.)
- ``Frozen``: do not perform the call; this is its recorded result. (Replay.)
- ``Rerun``: run the body, which is the agent's own code, and report its result: a recording notes it, a replay compares
  it. (Steps, tools of effect *none*, ``--through``.)

Each delivery to the agent takes its *turn* at the gate first. Synchronous code waits with ``turn.wait()``, asynchronous
code with ``await turn``; only turns come in these two forms.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeVar

from reenact.facts.call import Call, End, Failure, Json, Stream, Value
from reenact.facts.growth import Growth
from reenact.facts.run import Run

T_co = TypeVar("T_co", covariant=True)


class Turn(Protocol[T_co]):
    """A place in the run's order, to be waited for exactly once."""

    def wait(self) -> T_co:
        """Block the calling thread until the turn has come, and return the delivery."""
        ...

    def __await__(self) -> Generator[Any, Any, T_co]:
        """Let the calling coroutine wait until the turn has come, and return the delivery."""
        ...


class Live(Protocol):
    """A call to perform. Notes never raise and never block beyond the gate's bound."""

    mode: Literal["live"]
    event: int

    def ready(self) -> Turn[None]:
        """Wait until the call may be performed: at once for reads; for writes, once the intent is durable. Where the
        body is the agent's own code, a coroutine waits without letting another task run."""
        ...

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call. For a transport (``kind`` http) nothing below it is recorded or ordered. For a tool,
        model, retriever or step, the calls inside are recorded as its children.

        Inside a transport the strand waits for the world, and must take a turn before the agent's code goes on. An end
        that does not wait (a closed connection) needs no turn."""
        ...

    def settle(self, outcome: Value | Failure) -> Turn[None]:
        """Note a value or an exception. The seam waits for the returned turn, then hands the result to the agent."""
        ...

    def at_hand(self, outcome: Value | Failure) -> None:
        """Note the result of a coroutine that has not waited for anything: no other task has run since the call was
        made, and none runs before the agent has the result."""
        ...

    def sends(self, url: str, body: bytes) -> tuple[str, bytes] | None:
        """The URL and the body that are sent for a request that is made again: perhaps rewritten, and signed now. None:
        the request goes as the agent has made it.

        For transports that can send a changed request. ``url`` is a whole URL, or begins at the path; an unchanged
        value is returned as the same object."""
        ...

    def adds(self) -> Mapping[str, str]:
        """Headers that are sent beside the agent's own and are not part of the request's key: they name the run's
        trace."""
        ...

    def head(self, head: Mapping[str, Json]) -> Turn[None]:
        """Note the head of a stream (``facts.call.Stream.head``)."""
        ...

    def segment(self, data: bytes) -> Turn[None]:
        """Note bytes of the stream, exactly as the transport gave them."""
        ...

    def end(self, end: End) -> Turn[None]:
        """Note the end of the stream that the agent is about to see (``eof`` or ``error``)."""
        ...

    def unmade(self) -> None:
        """Note that the call cannot be performed and has not touched the world, so that it is not in doubt."""
        ...

    def dropped(self, end: End) -> None:
        """Note an end that the agent itself made (``closed`` early, ``cancelled``): no turn is taken.

        Without effect after another end; may be called from a finaliser."""
        ...


class Frozen(Protocol):
    """A call that has been answered in the recording."""

    mode: Literal["frozen"]
    event: int

    @property
    def form(self) -> Literal["value", "failure", "stream", "open"]:
        """The form of the recorded result. ``open``: the call never had a result (cancelled, or the process died)."""
        ...

    def outcome(self) -> Turn[Value | Failure]:
        """The value or exception. An ``open`` call is never handed anything: the turn lasts until it is
        cancelled, or until the replay ends there."""
        ...

    def answer(self) -> Turn[Value | Failure | Live]:
        """``outcome`` for a seam that can still perform the call. If the resource that would bring the recorded answer
        has changed, a fork may return the call as a live one (``go_live``)."""
        ...

    def go_live(self) -> None:
        """Perform the call after all, because the resource that was to bring its recorded answer is live now. The
        waiter in ``answer`` goes on with the live call. No effect after the answer was delivered, and in a replay."""
        ...

    def can_begin(self) -> None:
        """Say that the call begins a resource that later calls use, and that the seam can begin it when the first of
        these calls is performed. A fork then goes on with the resource. Without effect in a replay."""
        ...

    def head(self) -> Turn[Stream]:
        """The head of a stream. (A call that failed before its head is a ``failure``: use ``outcome``.)"""
        ...

    def part(self) -> Turn[bytes | End]:
        """The next segment, or how the stream ended.

        Where the recorded reader stopped early, reading further is a divergence and raises. Where the recorded
        reader was cancelled, the turn lasts until it is cancelled."""
        ...

    def dropped(self) -> None:
        """Note that the agent reads no further. Without effect after the end."""
        ...


class NeverLive:
    """The common part of ``Frozen`` calls that never go live, with a value or with a stream."""

    __slots__ = ()
    mode: Literal["frozen"] = "frozen"

    def outcome(self) -> Any:
        """Raise an error: a stream has no outcome."""
        raise TypeError("a stream is no value")

    def answer(self) -> Any:
        """The outcome."""
        return self.outcome()

    def go_live(self) -> None:
        """Without effect."""

    def can_begin(self) -> None:
        """Without effect."""

    def head(self) -> Any:
        """Raise an error: a value has no head."""
        raise TypeError("a value is no stream")

    def part(self) -> Any:
        """Raise an error: a value has no parts."""
        raise TypeError("a value is no stream")

    def dropped(self) -> None:
        """Without effect."""


class Rerun(Protocol):
    """A call whose body is the agent's own code, which runs again."""

    mode: Literal["rerun"]
    event: int

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call, as in ``Live``."""
        ...

    def settle(self, outcome: Value | Failure) -> Turn[None]:
        """Report the result or error of the body; a difference from the recording is a divergence."""
        ...


Crossing = Live | Frozen | Rerun


class Session(Protocol):
    """Decides, and performs nothing: it answers each crossing of one run (and of its child runs) and notes the
    result."""

    run: Run
    """The run it records, or answers from."""
    reaches_world: bool
    """Whether a contact that no seam answers reaches the world, and is named (``gap``); else it is refused."""

    def decide(self, lane: Any, call: Call) -> Crossing | None:
        """Answer one crossing of ``lane`` (a ``seams.lanes.Lane``). May raise the private halt of a replay.

        None: the run has ended, the call goes through untouched."""
        ...

    def ambient(self, lane: Any, source: str, fresh: Any) -> Any:
        """Answer one ambient read of ``source``.

        ``fresh`` is the value of the real source. A recording keeps it and returns it; a replay returns the recorded
        value, or extrapolates. See ``seams.ambient`` for the sources and their encodings."""
        ...

    def unrecorded(self, lane: Any, source: str, fresh: Any) -> Any:
        """The time for an unrecorded reader of a clock (``wall``, ``mono``, ``perf``): ``fresh`` while recording, the
        time of the last delivery in a replay. In a fork, ``mono`` is the time at which a timer would be set now."""
        ...

    def fault(self, error: Exception) -> bool:
        """Take the error of a seam that has failed. True: the seam must raise the error (a replay cannot go on); False:
        the recording is marked as degraded, and the seam must let the agent's call through unrecorded."""
        ...

    def cannot_go_on(self, message: str, *, cause: str, next_command: str = "") -> Exception:
        """The error for a resource that was answered from a recording and cannot go on live. The session has noted the
        error, and adds the next command where none is given; the seam raises it."""
        ...

    def note(self, lane: Any, key: str, value: Json) -> None:
        """Keep evidence on the event the lane is inside, or on the run."""
        ...

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """Keep the state of a step at its start (``in``) or end (``out``)."""
        ...

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], Growth | None]:
        """How to look at the states of a step that has lists ``declared`` to grow only. Returns the names of the lists
        whose length the body gives, and the object that looks at these lists from their old end on. None: look at the
        whole state."""
        ...

    def restate(self, event: int, state: Any) -> Any:
        """The state that step ``event`` starts with, if a fork changes it there. The change may be in place, so the
        state is looked at again. None: the agent's own state, unchanged."""
        ...

    def printed(self, stream: int, data: bytes) -> None:
        """Keep the agent's output to standard output (1) or standard error (2)."""
        ...

    def gap(self, what: str, place: str) -> None:
        """Note, by name, something that escapes the recording."""
        ...
