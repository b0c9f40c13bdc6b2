"""The addresses and the keys of a fork's live requests: both may have changed since the recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from reenact.errors import ReplayError
from reenact.facts.bases import Bases, moved_bases
from reenact.facts.call import Call
from reenact.facts.lazy_dataclass import replace
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.process_setting import variables_now
from reenact.timetravel.forks.api_keys import keys_of, said_by
from reenact.timetravel.forks.fork_requests import redirects, unmoved
from reenact.timetravel.forks.plan import Plan


class LiveAddresses:
    """Knows the addresses and keys of today.

    Args:
        session: The session of the fork, as a replay session.
        plan: Its plan.
        answered: The variables that were answered from the recording; the list grows.
        remark: Adds a remark to the report.
    """

    moved: tuple[tuple[str, str], ...] = ()
    """Base addresses in variables that have their recorded values in this process, each with today's address."""

    def __init__(
        self, session: ReplaySession, plan: Plan, answered: dict[str, str], remark: Callable[[str], object]
    ) -> None:
        self._session = session
        self._plan = plan
        self._answered = answered
        self._remark = remark
        self.lends(())

    def lends(self, lent: Iterable[str]) -> None:
        """The environment is today's, except for these variables, which come from the recording."""
        now, lent = variables_now(), set(lent)
        self._answered.update({name: now[name] for name in lent if name in now})
        self._today = today = {name: text for name, text in now.items() if name not in lent}
        words = (*self._session.options.command, *said_by(self._plan))
        self._keys = keys_of(self._session.run, today, self._answered, words)

    def today(self, url: str) -> str:
        """A recorded address as today's variables name it."""
        answered = dict(self._answered)
        found = (*self.moved, *((then, now) for then, now in moved_bases(answered, self._today, answered)))
        return Bases(tuple(sorted(found, key=lambda pair: -len(pair[0])))).today(url)

    def elsewhere(self, call: Call) -> str:
        """The host that a call is sent to, where it differs from the host in the call's name."""
        url = str(call.head.get("url") or "")
        there = self.today(url) if redirects(call) else url
        return "" if there == url else f"; sent to {urlsplit(there).netloc}"

    def refused(self, call: Call) -> ReplayError | None:
        """Why a call is not sent: it lacks a key, or would carry a key to a host that must not get it."""
        return self._keys.refused(self._where_it_goes(call), self._session.run, self._plan)

    def lacks(self, call: Call) -> str:
        """The variable of a missing key of a call that is not allowed; empty if the call has its key."""
        return self._keys.missing(call)

    def _where_it_goes(self, call: Call) -> Call:
        """A call with the address that it is sent to today. A remark is made on a call that cannot be sent there."""
        url = str(call.head.get("url") or "")
        there = self.today(url)
        if there == url:
            return call
        if redirects(call):
            return replace(call, head={**call.head, "url": there})
        self._remark(unmoved(call, there))
        return call
