"""The policy of this process: that of the command that started it, or else that of its project's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reenact.errors import ReenactError, UsageError
from reenact.facts.late import late
from reenact.facts.policy import Policy

if TYPE_CHECKING:
    from reenact.abc.project_settings import load_settings
    from reenact.facts.settings import policy_of
else:
    load_settings = late("reenact.abc.project_settings", "load_settings")
    policy_of = late("reenact.facts.settings", "policy_of")

_told: Policy | None = None
_read: dict[tuple[str, ...], Policy] = {}


def configure(policy: Policy) -> None:
    """Set the default policy of recordings in this process."""
    global _told
    _told = policy


def configured_policy() -> Policy:
    """The default policy of a recording. The settings are read once for each folder and environment.

    Raises:
        ReenactError: A settings file cannot be read, or a setting is wrong: then nothing is recorded, because the
            project's rules are not known.
    """
    if _told is not None:
        return _told
    set_here = [f"{name}={text}" for name, text in os.environ.items() if name.startswith("REENACT_")]
    key = (os.getcwd(), *set_here)
    found = _read.get(key)
    if found is None:
        try:
            found = _read[key] = policy_of(load_settings())
        except UsageError as error:
            raise ReenactError(error.message, cause=error.cause, next_command=error.next_command) from None
    return found
