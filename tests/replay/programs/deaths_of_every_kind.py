"""An agent that crashes, aborts, is killed or ends at once, as its environment says."""

import faulthandler
import os
import signal

import reenact


@reenact.tool(effect="read")
def look(number):
    return number


def give_up(how):
    if how == "crash":
        faulthandler._sigsegv()  # type: ignore[attr-defined]
    elif how == "abort":
        os.abort()
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "end":
        import ctypes

        ctypes.CDLL(None)._exit(1)


for number in range(3):
    look(number)
give_up(os.environ.get("HOW", ""))
look(3)
