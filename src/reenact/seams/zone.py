"""The system's time zone by its name, which a replay elsewhere is given again."""

from __future__ import annotations

import os
from collections.abc import Mapping

from reenact.facts.call import Json


def system_zone() -> str:
    """The name of the system's time zone (``Europe/Berlin``), where it is a link into the zone database; else empty."""
    try:
        return os.readlink("/etc/localtime").rpartition("zoneinfo/")[2]
    except OSError:
        return ""


def zone_for(recorded: Mapping[str, Json], now: Mapping[str, str]) -> dict[str, str | None]:
    """The change to ``TZ`` that makes a program started now live in the recorded zone.

    Args:
        recorded: The fact ``time_zone`` of a run: ``TZ`` as it was set, ``link`` the system's zone then.
        now: The environment of today.

    Returns:
        ``TZ`` with its value, or with None where it must not be set; empty where nothing is known or nothing has to be
        done.
    """
    if not recorded:
        return {}
    if recorded.get("TZ"):
        return {"TZ": str(recorded["TZ"])}
    link = str(recorded.get("link") or "")
    if link and link != system_zone():
        return {"TZ": link}
    return {"TZ": None} if "TZ" in now else {}
