"""A time-travel runner: one recorded run, and two ways to go back into it with one thing changed.

The agent books a trip step by step and keeps everything it knows in its state. It went wrong where the cheapest train
was taken although it arrives too late. Both ways go back to that step and change the deadline:

- a *fork* executes the agent's code again up to the step, answered from the recording;
- a *checkpoint* hands the recorded state to the agent's own constructor, and nothing before it is executed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import reenact

TRAINS = ({"name": "night", "price": 29, "arrives": 11}, {"name": "early", "price": 59, "arrives": 8})
ROOMS = {"night": "day room", "early": "no room"}


@reenact.tool(effect="read")
def trains(to: str) -> list[dict[str, Any]]:
    """The trains of a day."""
    print("  (the railway is asked)")
    return [dict(train) for train in TRAINS]


@reenact.tool(effect="read")
def room(train: str) -> str:
    """The hotel's offer to a guest who arrives by this train."""
    print(f"  (the hotel is asked: {train})")
    return ROOMS[train]


@dataclass
class Trip:
    """An agent with explicit state: a program that has the state can go on with it.

    Attributes:
        state: Everything it knows.
        steps: What is still to be done, in order.
    """

    state: dict[str, Any]
    steps: list[str] = field(default_factory=lambda: ["search", "choose", "stay"])

    def run(self) -> str:
        """Do what is still to be done."""
        while self.steps:
            step = self.steps.pop(0)
            with reenact.step(step, self.state):
                getattr(self, step)()
        train = self.state["train"]
        return f"{train['name']} train, arriving at {train['arrives']}, {self.state['room']}"

    def search(self) -> None:
        """Find trains."""
        self.state["found"] = trains(self.state["to"])

    def choose(self) -> None:
        """Take the cheapest one that arrives in time."""
        in_time = [train for train in self.state["found"] if train["arrives"] <= self.state["by"]]
        self.state["train"] = min(in_time, key=lambda train: train["price"])

    def stay(self) -> None:
        """Ask the hotel."""
        self.state["room"] = room(self.state["train"]["name"])


@reenact.record(agent="trip@1")
def book(to: str, by: int) -> str:
    """Book a trip; each call is one recorded run."""
    return Trip({"to": to, "by": by}).run()


def main() -> None:
    """Record, then go back to the step that went wrong in both ways."""
    print("recorded:  ", book("Lyon", 12))
    with reenact.open_store() as store:
        parent = store.run("@")

        change = reenact.Change(state={"by": 9})
        fork = reenact.fork(parent, "choose#1", change=change, entry=book, store=store)
        print("fork:       the prefix is frozen, the hotel is asked what it was never asked")

        before = store.checkpoint(parent, "choose#1")
        state = {**before.state, "by": 9}
        with reenact.record(agent="trip@1", tags={"from": f"{parent.id}:{before.event}"}, store=store) as run:
            print("checkpoint:", Trip(state, ["choose", "stay"]).run())

        told = reenact.compare(parent, fork, store=store).first_difference
        print("the fork parts from its parent at:", told.event.name if told is not None else "no event")
        print("events:", [store.open(each.id).count() for each in (parent, fork, run)])


if __name__ == "__main__":
    main()
