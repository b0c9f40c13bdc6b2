"""An agent that says what it finds of the one before it, and leaves traces of every kind behind."""

import ctypes
import json
import os
import random
import signal
import sys
import threading
import time
import uuid

import reenact


@reenact.tool(effect="read")
def look(what: str, **more: object) -> dict:
    return {"found": what, "more": len(more)}


def state() -> dict:
    """What an agent could find of one that ran here before it."""
    return {
        "globals": [hasattr(json, "left"), "left" in globals(), "left" in sys.modules],
        "environment": os.environ.get("LEFT"),
        "folder": os.path.basename(os.getcwd()),
        "threads": threading.active_count(),
        "arguments": len(sys.argv) + len(sys.orig_argv),
        "umask": oct(os.umask(0o22)),
        "signal": str(signal.getsignal(signal.SIGUSR1)),
        "recursion": sys.getrecursionlimit(),
        "path": sys.path[0] == os.getcwd(),
    }


def leave() -> None:
    """Change everything of it."""
    global left
    left = json.left = 1  # type: ignore[name-defined, attr-defined]
    sys.modules["left"] = json
    os.environ["LEFT"] = "yes"
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    os.umask(0o77)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    open(os.devnull)
    sys.setrecursionlimit(4321)
    sys.path.insert(0, "/")
    with open("left.txt", "w") as file:
        file.write("left")
    os.chdir("/")


if __name__ == "__main__":
    project = os.getcwd()
    look(sys.argv[1], state=state(), left=os.path.exists("left.txt"))
    if "leave" in sys.argv:
        leave()
    if "kill" in sys.argv and os.path.exists("armed"):
        if "parent" in sys.argv:  # a replay signals no other process: the test does, when it sees the name
            ctypes.CDLL(None).prctl(15, b"end my parent", 0, 0, 0)
        else:
            os.kill(os.getpid(), signal.SIGKILL)
        os.read(os.pipe()[0], 1)  # until the signal arrives
    look("draws", at=time.time(), draw=random.random(), name=str(uuid.uuid4()))
    if "often" in sys.argv:
        for n in range(5):
            look("again", n=n)
    if os.path.exists(f"{project}/changed"):
        look("something new")
    if "raise" in sys.argv:
        raise TimeoutError("too late")
    if "exit" in sys.argv:
        sys.exit(7)
