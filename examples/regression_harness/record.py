"""Records one conversation into ``recordings.db`` beside this file: what the tests take their fixtures from.

Yours comes from production (``reenact record -- …``). Here a scripted model stands in for a real one.
"""

from __future__ import annotations

from pathlib import Path

import agent
from openai import OpenAI

import reenact
from reenact.testing import ToolUse, frozen_clock, scripted_model

STORE = f"sqlite:///{Path(__file__).with_name('recordings.db')}"


def main() -> None:
    """Record it, and say what it is called."""
    with frozen_clock("2026-11-21T10:00:00Z"):
        today = reenact.record(agent="orders", user="u-17", store=STORE)(agent.answer)
        with (
            scripted_model(ToolUse("find_orders"), "Your order #5093 arrives today.") as model,
            OpenAI(base_url=model.openai_url, api_key=model.key) as client,
        ):
            print(today(client, "Which of my orders arrives today?", "u-17")["text"])


if __name__ == "__main__":
    main()
