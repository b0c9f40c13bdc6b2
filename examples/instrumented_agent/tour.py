"""From a span in a receiver to the run that can be replayed: `reenact serve` takes what the agent's own package sends.

The agent is recorded by `reenact record` meanwhile. Its trace is one run in the store, its recording another: the span
of the agent names the recording, and that one is replayed, with model and receiver gone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from world import SCRIPT

import reenact
from reenact.facts.call import Failure
from reenact.testing.provider import ScriptedProvider

HERE = Path(__file__).parent
REENACT = (sys.executable, "-m", "reenact")


def run(*command: str, **environment: str) -> str:
    """Run a command, and give what it printed; its messages are shown."""
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def record_against(serving: subprocess.Popen[str]) -> None:
    """Record the agent, which sends its spans to the receiver."""
    assert serving.stderr is not None
    found = next(match for line in serving.stderr if (match := re.search(r"http://127\.0\.0\.1:\d+", line)))
    with ScriptedProvider(SCRIPT) as model:
        agent = (sys.executable, str(HERE / "agent.py"), found[0])
        print(run(*REENACT, "record", "--agent", "refunds", "--", *agent, **model.environment()), end="")


def main() -> None:
    """Receive, record, look, go back."""
    command = (*REENACT, "serve", "--bind", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
    serving = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        record_against(serving)
    finally:
        serving.terminate()
        serving.communicate()

    with reenact.open_store() as store:
        received = next(each for each in store.runs() if "trace" in each.tags)
        events = list(store.events(received))
        for event in events:
            if event.kind == "note":
                continue
            depth, above = 0, event.parent
            while above is not None:
                depth, above = depth + 1, events[above].parent
            failed = f"  failed: {event.outcome.error.text}" if isinstance(event.outcome, Failure) else ""
            print("  " * depth + f"{event.kind} {event.name}{failed}")
        span = store.open(received).notes(0)["span"]
        recording = span["attributes"]["reenact.run.id"]
    print(f"the agent's span names the recording {recording}")
    print(run(*REENACT, "replay", recording), end="")


if __name__ == "__main__":
    main()
