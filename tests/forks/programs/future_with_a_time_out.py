"""An answer of a pool that is waited for with a time-out, then some sleeps."""

import concurrent.futures
import time

import reenact


@reenact.tool(effect="read")
def look(query):
    time.sleep(0.3)
    return query.upper()


with reenact.step("plan", {"limit": 0.1, "times": 3}) as state:
    pass
began = time.monotonic()
with concurrent.futures.ThreadPoolExecutor() as pool:
    asked = pool.submit(look, "a")
    try:
        print(asked.result(timeout=state["limit"]))
    except concurrent.futures.TimeoutError:
        print("late")
    print(time.monotonic() - began)
    print(look("b"), time.monotonic() - began)
for _ in range(state["times"]):
    time.sleep(0.2)
print(look("c"), time.monotonic() - began)
