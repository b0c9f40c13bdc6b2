"""Opening a replay: the session over one recording, by the rules it was recorded by."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.facts.keys import Rules
from reenact.facts.policy import Policy
from reenact.privacy import make_redactor
from reenact.replaying.options import Options
from reenact.replaying.session import ReplaySession


def open_session(recording: Recording, options: Options) -> ReplaySession:
    """A session that answers from ``recording``. Opens in constant time: nothing is read before it is asked for."""
    run = recording.run
    redactor = make_redactor(run.id, Policy())
    return ReplaySession(recording, redactor, Rules(run.capture.get("ignore") or {}), options)
