"""A queue that is asked again and again until the answer of a thread is in it."""

import queue
import threading
import time

import reenact


@reenact.tool(effect="read")
def look(query, seconds):
    time.sleep(seconds)
    return query.upper()


with reenact.step("plan", {"limit": 0.3, "total": 5.0, "seconds": 1.0}) as state:
    pass
answers = queue.Queue()
began = time.monotonic()
threading.Thread(target=lambda: answers.put(look("a", state["seconds"]))).start()
empty = 0
while time.monotonic() < began + state["total"]:
    try:
        print(answers.get(timeout=state["limit"]))
        break
    except queue.Empty:
        empty += 1
print(empty, time.monotonic() - began)
print(look("b", 0.2), time.monotonic() - began)
