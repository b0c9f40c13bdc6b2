"""Making a mark: its text through the privacy gate, its revision as a commit, its moment."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from reenact.abc.sources import Clock, Entropy
from reenact.errors import UsageError
from reenact.facts.ids import make_run_id
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.marks import LAST, Mark
from reenact.facts.policy import Policy
from reenact.facts.variables import chosen
from reenact.privacy import make_redactor

LONGEST: Final = 200
"""The most characters of a mark's text."""

_COMMIT = lazy_regex(r"[0-9a-f]{7,64}")
_GIT_SECONDS: Final = 10.0


def make_mark(
    text: str,
    *,
    rev: str,
    at: str,
    folder: Path,
    environment: Mapping[str, str],
    policy: Policy,
    clock: Clock,
    entropy: Entropy,
) -> Mark:
    """A mark, ready to be stored.

    Args:
        text: The text of the mark.
        rev: The revision that was deployed, as git names it, or a whole or short commit hash where there is no
            repository; empty without a revision.
        at: Its time, ISO 8601 (without a zone: local time); empty for now.
        folder: The folder of the repository.
        environment: Variables whose credentials are removed from the text.
        policy: The rules for further redaction.
        clock, entropy: The sources of its time and id.

    Raises:
        UsageError: The text is empty or too long, the revision does not exist, or the time is invalid or in the future.
    """
    words = " ".join(text.split())
    if not words or len(words) > LONGEST or words == LAST:
        raise UsageError(
            f"{words[:20]!r} is no text for a mark",
            cause=f"it takes 1 to {LONGEST} characters, and {LAST} names the last mark",
            next_command='reenact mark "v2 deployed"',
        )
    now_us = clock.wall_us()
    names = sorted(chosen(environment)["env_secret"])
    redactor = make_redactor(known=KnownCredentials(environment, names, fields=policy.redact))
    return Mark(
        id=make_run_id(now_us, entropy.bytes(8)),
        text=redactor.text(words),
        at_us=_moment(at, now_us) if at else now_us,
        revision=_commit(rev, folder) if rev else "",
    )


def _moment(at: str, now_us: int) -> int:
    try:
        found = round(datetime.fromisoformat(at).astimezone().timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{at!r} is no moment",
            cause="it is written as in ISO 8601: 2026-11-24T18:30, or with a zone 2026-11-24T18:30Z",
            next_command="reenact mark --help",
        ) from None
    if found > now_us:
        raise UsageError(
            f"{at} is still to come",
            cause="a mark says what has happened; without a zone the time is taken as local",
            next_command="reenact mark --help",
        )
    return found


def _commit(rev: str, folder: Path) -> str:
    """The commit of a revision; without a repository, the given hash."""
    inside = _git(folder, "rev-parse", "--git-dir")
    found = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}") if inside else ""
    if not found and not inside and _COMMIT.fullmatch(rev):
        return rev
    if not found:
        raise UsageError(
            f"there is no revision {rev} here",
            cause="a typing mistake or a tag that was not fetched"
            if inside
            else "this folder is in no git repository, where only a commit's hash is known",
            next_command="git log --oneline --all -20",
        )
    return found


def _git(folder: Path, *words: str) -> str:
    """The output of git; empty where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
