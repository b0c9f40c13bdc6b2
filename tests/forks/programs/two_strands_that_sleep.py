"""Two threads that sleep and ask side by side, each with a pause of its own."""

import threading
import time

import reenact


@reenact.tool(effect="read")
def look(query, seconds):
    time.sleep(seconds)
    return query.upper()


def strand(name, pause, durations):
    for number, seconds in enumerate(durations):
        time.sleep(pause)
        other = threading.Thread(target=look, args=(f"{name}{number}", seconds))
        other.start()
        other.join()
    ended[name] = time.perf_counter() - began


with reenact.step("plan", {"a": 0.25, "b": 0.3}) as state:
    pass
ended = {}
began = time.monotonic()
threads = [
    threading.Thread(target=strand, args=("a", state["a"], [0.37, 0.61])),
    threading.Thread(target=strand, args=("b", state["b"], [0.83, 0.21])),
]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(ended["a"], ended["b"], time.monotonic() - began)
