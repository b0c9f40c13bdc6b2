"""A reminder agent that reads the clock twice: around midnight it contradicts itself.

The list is headed with today's date; then each task is fetched, and judged by the clock again. In between lies an
answer of the task service, and for one run in a million, midnight.

``DUE_AGENT_VERSION=v2_one_clock`` reads the clock once and hands the day on.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, date, datetime

import requests

import reenact

AGENT_VERSION = os.environ.get("DUE_AGENT_VERSION", "v1")
TASKS_URL = os.environ.get("TASKS_URL", "http://127.0.0.1:8077")
PAUSE_S = 0.15


def today() -> date:
    """The day it is, in UTC."""
    return datetime.now(UTC).date()


@reenact.tool(effect="read")
def when_due(task: str, day: str) -> str:
    """When a task is due, as people say it; ``day`` is the day the list is for."""
    time.sleep(PAUSE_S)  # the service asks for a pause between requests
    reply = requests.get(f"{TASKS_URL}/tasks", params={"id": task}, timeout=10)
    due = date.fromisoformat(reply.json()["due"])
    now = date.fromisoformat(day) if AGENT_VERSION == "v2_one_clock" else today()
    days = (due - now).days
    return "due today" if days == 0 else f"{-days} days overdue" if days < 0 else f"due in {days} days"


def remind(tasks: list[str]) -> str:
    """The list of tasks, with when each is due."""
    day = today()
    lines = [f"Tasks on {day:%A, %d %B %Y}:"]
    lines += [f"- {task}: {when_due(task, day.isoformat())}" for task in tasks]
    return "\n".join(lines)


if __name__ == "__main__":
    print(remind(sys.argv[1:] or ["invoice"]))
