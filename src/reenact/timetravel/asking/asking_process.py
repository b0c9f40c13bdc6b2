"""A replay that asks models, in a process of its own: its files go to a scratch folder, and its network is open for the
calls that may go live."""

from __future__ import annotations

from typing import Any

from reenact.replaying import replay_process as replaying
from reenact.replaying.agent_process import LENT
from reenact.replaying.isolation import Isolation
from reenact.replaying.replay_session import ReplaySession
from reenact.timetravel.asking.asker import Asker
from reenact.timetravel.forks.allowed_names import with_settings
from reenact.timetravel.forks.plan import Plan


class AskingProcess(replaying.ReplayingProcess):
    """A process that replays one imported run, in which models may go live.

    Args:
        instructions: The instructions of a ``ReplayingProcess``.
    """

    def _isolate(self) -> Isolation:
        """Isolates all except the network."""
        return replaying.isolated(self.instructions, "models may go live")

    def _open(self) -> ReplaySession:
        """The session of the imported run, and the asker for it."""
        session = super()._open()
        self._asker = Asker(session, with_settings(Plan(at=0, live="none", only=self.options.live)))
        return session

    def start(self) -> None:
        """Answer the main thread and every thread that no other object answers."""
        self._asker.lends(self.instructions.get(LENT) or ())
        super().start()
        self._guard.permits = self._asker.permits


def begin(instructions: dict[str, Any]) -> None:
    """Start replaying in this process. Called once, by the boot, before the program's first line."""
    replaying.start(AskingProcess(instructions))
