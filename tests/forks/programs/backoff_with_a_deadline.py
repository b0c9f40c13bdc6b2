"""Retries that wait longer each time, with a deadline over all."""

import time

import reenact


@reenact.tool(effect="read")
def look(attempt):
    time.sleep(0.1)
    if attempt < 3:
        raise LookupError(attempt)
    return "found"


with reenact.step("plan", {"pause": 0.2, "total": 3.0}) as state:
    pass
began = time.perf_counter()
pause = state["pause"]
for attempt in range(9):
    try:
        print(look(attempt))
        break
    except LookupError:
        if time.perf_counter() - began + pause > state["total"]:
            print("gave_up")
            break
        time.sleep(pause)
        pause *= 2
print(attempt, time.perf_counter() - began)
