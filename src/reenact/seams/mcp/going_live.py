"""When the dispatcher of a session works: from the beginning, or from the first call that must go through it.

While a session is answered from a recording, no server is started for it. The first live call opens the transport and
repeats the client's handshake with the server; then every live call goes this way. From then on, messages that the
server begins come from the live server.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from reenact.abc.session import Crossing
from reenact.facts.connections import DIFFERS
from reenact.seams.lanes import Lane
from reenact.seams.mcp.handshakes import Handshake
from reenact.seams.mcp.inbox import Inbox
from reenact.seams.mcp.server_line import Line, go_live


class Dispatcher(Protocol):
    """The part of a session's dispatcher that going live needs.

    Attributes:
        real: The library's own dispatcher.
        handshake: The client's handshake with its server.
        receiving: The object that answers requests of the recorded server; None without one.
    """

    real: Any
    handshake: Handshake
    receiving: Crossing | None

    @property
    def server(self) -> str:
        """The server's own name; empty before the server has given it."""
        ...

    def speaks_through(self, given: Any) -> None:
        """Take the opened transport for everything that passes from now on."""
        ...

    async def work(self, inbox: Inbox) -> None:
        """Carry messages until the session ends."""
        ...


class SessionClosed(Exception):
    """The session has been closed while its server was being greeted."""


class GoingLive:
    """The way of one session into the world.

    Attributes:
        is_live: Whether messages that the server begins come from the world.
        done: Whether its dispatcher works, and its server has been greeted.

    Args:
        session: The session.
        group: Holds the dispatcher.
        inbox: Takes the server's own messages.
        line: The transport below; None for an unknown one.
    """

    def __init__(self, session: Dispatcher, group: Any, inbox: Inbox, line: Line | None) -> None:
        self._session = session
        self._group = group
        self._inbox = inbox
        self._line = line
        self._under_way: asyncio.Future[list[str]] | None = None
        self._told = False
        self.is_live = False
        self.done = False

    async def begin(self) -> None:
        """The session begins. Does nothing yet over a transport that is answered from a recording."""
        if self._line is None or self._line.live:
            self.is_live = True
            await self._work()
            self.done = True

    def announce(self) -> None:
        """A live message is about to pass: messages that the recorded server began are no longer handed over."""
        if not self.is_live:
            self.is_live = True
            if self._session.receiving is not None:
                go_live(self._session.receiving)

    async def require(self, lane: Lane) -> None:
        """Go live, unless that has happened already; other callers wait for the same.

        Args:
            lane: The calling lane.

        Raises:
            Exception: The server cannot be reached, or does not take the handshake.
        """
        if self.done:
            return
        if self._line is None:
            raise ConnectionError("its transport is none that is known, so it cannot be opened again")
        if self._under_way is None:
            self._under_way = asyncio.get_running_loop().create_future()
            self._group.start_soon(self._go, self._line, self._under_way)
        differing = await asyncio.shield(self._under_way)
        if differing and not self._told:  # the first caller may have been cancelled in between
            self._told = True
            lane.session.note(lane, DIFFERS, f"{self._session.server or 'the MCP server'}: {'; '.join(differing)}")

    async def _go(self, line: Line, under_way: asyncio.Future[list[str]]) -> None:
        try:
            self._session.speaks_through(await line.go_live())
            await self._work()
            differing = await self._session.handshake.again(self._session.real)
        except Exception as error:
            under_way.set_exception(error)
            under_way.exception()  # the caller may be gone
        else:
            self.done = True
            under_way.set_result(differing)
        finally:
            if not under_way.done():
                under_way.set_exception(SessionClosed())
                under_way.exception()

    async def _work(self) -> None:
        """Let the dispatcher carry messages."""
        self._group.start_soon(self._session.work, self._inbox)
        await self._inbox.started
