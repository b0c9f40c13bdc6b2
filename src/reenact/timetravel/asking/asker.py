"""The part of a session that asks a model if an import has no answer; only a replay of an import has it.

Only models go live. A tool without a result in the import, or any other call, is a divergence as in every replay. The
rules of a fork decide which requests may be sent, and with which key.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final
from urllib.parse import urlsplit

from reenact.abc.sources import CLOCK
from reenact.errors import EffectRefused, Halt, UnreplayableRun
from reenact.facts.call import Call, Kind
from reenact.facts.dialects import read
from reenact.replaying import guard
from reenact.replaying.matching import Miss
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.lanes import Lane
from reenact.seams.process_setting import variables_now
from reenact.timetravel.asking.asking_calls import AskedCall, ModelReply
from reenact.timetravel.cost import prices, reading_cost
from reenact.timetravel.forks.api_keys import keys_of
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import Plan, refusal

_WHY: Final = {
    "changed": "the import has no such conversation",
    "added": "the import has no further model call",
    "ambiguous": "the import has several answers",
    "untold": "the import does not have the answer",
}
_TOKENS: Final = (("tokens_in", "in"), ("tokens_out", "out"))


class Asker:
    """Sends the model calls for which the import has no answer.

    Args:
        session: The session that it is attached to.
        plan: The calls that may go live.
    """

    def __init__(self, session: ReplaySession, plan: Plan) -> None:
        self._session = session
        self._plan = plan
        self._heard = ModelReply(session.schedule, session.fault, self._over)
        self._calls: dict[int, tuple[Call, str]] = {}
        self.lends(())
        session.ask = self.ask

    def lends(self, lent: Iterable[str]) -> None:
        """Note that the environment is today's, except for these variables, which hold placeholders."""
        lent = set(lent)
        today = {name: text for name, text in variables_now().items() if name not in lent}
        self._keys = keys_of(self._session.run, today, {}, self._session.options.command)

    def permits(self) -> bool:
        """Whether the world is being asked, or a connection to it closed."""
        session = self._session
        return bool(session.schedule.under_way) or session.gate.parting > 0

    def ask(self, found: Miss, lane: Lane, call: Call) -> AskedCall | None:
        """A model call without an answer, to be performed; None for any other call.

        Raises:
            Halt: The call may not be sent; the replay stops there.
        """
        if call.kind is not Kind.HTTP or not is_model(call):
            return None
        session = self._session
        why = refusal(self._plan, call, model=True)
        if why:
            how = "models_may_store = true in [tool.reenact] sends what it only keeps"
            raise self._refused(EffectRefused(why, cause=f"what its provider keeps, or acts on, is not sent; {how}"))
        error = self._keys.refused(call, session.run, self._plan)
        if isinstance(error, UnreplayableRun):
            session.fault(error)
            raise session.gate.halted or Halt(error.message)
        if error is not None:
            raise self._refused(error)
        with session.gate.lock:
            number = session.recording.count() + session.asked
            session.asked += 1
            self._calls[number] = call, _WHY[found.reason]
            session.schedule.under_way.add(number)
        return AskedCall(self._heard, lane, call, number)

    def _refused(self, error: Exception) -> Halt:
        words = str(error)
        guard.GUARD.refused.append(words)
        return self._session.faults.refuse(words)

    def _over(self, number: int) -> None:
        """Note that one call has been answered: the model that was asked, the reason, and the tokens and price."""
        call, why = self._calls.pop(number)
        head, body = self._heard.taken(number)
        reading = read(call.head, call.body, head or {}, body)
        asked = (reading.model_asked if reading is not None else "") or call.name
        line = f"live {asked} at {urlsplit(str(call.head.get('url'))).netloc}: {why}"
        if head is None:
            line += "; it did not answer"
        elif head.get("status") != 200 or reading is None:
            line += f"; answered with status {head.get('status')}"
        else:
            priced = prices()
            cost = None if priced is None else reading_cost(reading.to_json(), CLOCK.wall_us(), priced)
            usage = [f"{reading.usage[name]} tokens {way}" for name, way in _TOKENS if reading.usage.get(name)]
            line += f"; {', '.join((*usage, _money(cost)))}"
        self._session.tally.remarks[f"live {number}"] = line


def _money(amount: Decimal | None) -> str:
    return "cost not known" if amount is None else f"about ${amount:.2g}"
