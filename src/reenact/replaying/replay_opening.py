"""Opening a replay: the session over one recording, by the rules with which it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.abc.redaction import Redactor
from reenact.abc.store import Recording
from reenact.facts.imported_runs import is_imported
from reenact.facts.keys import rules_of
from reenact.facts.known_credentials import NONE, RULE, KnownCredentials
from reenact.facts.late import late
from reenact.facts.removed_digests import REMOVED, listed
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_traced
from reenact.privacy import make_redactor
from reenact.replaying.options import Options
from reenact.replaying.relocation import renaming
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.request_replay import Preamble
from reenact.replaying.worktree import Tree
from reenact.seams.process_setting import variables_now

if TYPE_CHECKING:
    from reenact.replaying.told_tools import ConversedSession
    from reenact.replaying.traced_session import TracedSession
else:  # these read every protocol of models, and only imported runs need them
    ConversedSession = late("reenact.replaying.told_tools", "ConversedSession")
    TracedSession = late("reenact.replaying.traced_session", "TracedSession")


def open_session(recording: Recording, options: Options, tree: Tree | None = None) -> ReplaySession:
    """A session that answers from ``recording``. Opens in constant time: nothing is read before it is asked for.

    Args:
        recording: The run.
        options: The options.
        tree: The project's folder now, for a run from elsewhere.
    """
    run = recording.run
    session = TracedSession if is_traced(run) else ConversedSession if is_imported(run) else ReplaySession
    return session(recording, redactor_of(run, tree), rules_of(run.capture, options.ignore), options)


def open_preamble(recording: Recording, options: Options, deliveries: int, tree: Tree | None = None) -> Preamble:
    """The session of the process that served a request, up to the number of deliveries before the request
    (``deliveries``)."""
    run = recording.run
    return Preamble(recording, redactor_of(run, tree), rules_of(run.capture, options.ignore), options, deliveries)


def redactor_of(run: Run, tree: Tree | None = None) -> Redactor:
    """The redactor that cleans today's calls like those of a run. ``tree``: the project's present folder."""
    return renaming(make_redactor(known=known_values(run, variables_now())), tree)


def known_values(run: Run, environment: Mapping[str, str]) -> KnownCredentials:
    """The present values of a run's credentials, with placeholders; empty where none were recorded."""
    removed = listed(run.capture.get(REMOVED))
    if RULE not in (run.capture.get("rules") or ()):
        return NONE.with_listed(removed) if removed else NONE
    capture = run.capture
    fields, secrets = capture.get("redact") or {}, run.environment.get("env_secret") or ()
    return KnownCredentials(environment, secrets, capture.get("same_values") or {}, fields, removed)
