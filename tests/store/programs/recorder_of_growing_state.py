"""Children that record a state that grows, without end, each killed by its parent's parent."""

import itertools
import os
import sys

import reenact
from tests.store.test_kills import message


def record(store):
    state = {"messages": [], "turn": 0}
    with reenact.record(agent="agent", store=store) as run:
        os.write(1, b"run %s\n" % run.id.encode())
        for turn in itertools.count():
            with reenact.step("grows", state, grows=("messages",)):
                state["messages"] += [message(2 * turn), message(2 * turn + 1)]
                state["turn"] = turn
            with reenact.step("whole", {"last": state["messages"][-20:], "turn": turn}):
                print("turn", turn, file=sys.stderr)
            if turn % 4 == 0:
                run.flush()
                os.write(1, b"ack %d\n" % turn)


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        record(line.strip())
    os.write(1, b"pid %d\n" % child)
    os.waitpid(child, 0)
    os.write(1, b"gone 0\n")
