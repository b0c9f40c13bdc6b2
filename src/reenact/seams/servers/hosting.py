"""The host that turns the requests of a server into runs: appointed by the recording or the replay of a process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from reenact.seams.lanes import Lane

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestRun(Protocol):
    """The run of one request."""

    lane: Lane
    """The root lane of the run."""

    def enter(self) -> Any:
        """Begin the run: the calling task runs in the root lane from now on. Never raises."""
        ...

    def suspend(self) -> None:
        """The server's own code runs, in the same thread."""
        ...

    def resume(self) -> None:
        """The application's code runs again."""
        ...

    def leave(self, error: BaseException | None, status: int | None) -> None:
        """End the run, as ``left`` does, in a thread."""
        ...

    async def left(self, error: BaseException | None, status: int | None) -> None:
        """End the run.

        Args:
            error: The error that the application raised, if any.
            status: Status of the response; None where none was begun.
        """
        ...


class Host(Protocol):
    """The questions that a server in this process asks of the recording or the replay."""

    alone: bool
    """Whether one request is played: then one process is enough, for every configuration of the server."""

    preamble: Lane
    """Lane of the process's own run: the application's start-up is a strand of it."""

    def serving(self) -> None:
        """The server takes over: from now on only strands that are declared so belong to the process's run.

        Called in each round of a program that handles one request after the other."""
        ...

    def interrupted(self) -> None:
        """An interrupt of the program has ended the round."""
        ...

    def ignores(self, method: str, path: str) -> bool:
        """Whether a request or connection is answered without a session. Never raises."""
        ...

    def request(self, scope: Mapping[str, Any]) -> RequestRun | None:
        """Open the run of a request; None when it is to be served unrecorded. Never raises."""
        ...

    def stopped_by(self) -> int:
        """In a replay: the signal that stopped the recorded server; 0 otherwise."""
        ...

    def player(self) -> Callable[[Application, MutableMapping[str, Any]], Awaitable[None]] | None:
        """In a replay: the function that runs instead of listening. When it returns, the server shuts down."""
        ...

    def performer(self) -> Callable[[Any], None] | None:
        """In a replay of a WSGI application: the function that runs instead of listening, in the server's thread."""
        ...

    def has_no_client(self) -> bool:
        """In a replay: whether this round serves no request."""
        ...

    def ending(self, number: int) -> None:
        """The server has ended because of a signal, which will now end the process."""
        ...


_host: Host | None = None


def appoint(host: Host | None) -> None:
    """Set the host from now on; None: no host."""
    global _host
    _host = host


def host() -> Host | None:
    """The host to ask."""
    return _host
