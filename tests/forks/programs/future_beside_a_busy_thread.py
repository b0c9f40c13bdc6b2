"""An answer of a pool that is waited for with a time-out after work."""

import concurrent.futures
import threading
import time

import reenact

begun = threading.Event()


@reenact.tool(effect="read")
def look(query):
    time.sleep(1.1)
    return query.upper()


with reenact.step("plan", {"name": "main", "limit": 0.9}) as state:
    pass
with concurrent.futures.ThreadPoolExecutor() as pool:
    asked = pool.submit(lambda: (begun.set(), look("a"))[1])
    begun.wait()
    for _ in range(15_000_000):
        pass
    try:
        print(state["name"], asked.result(timeout=state["limit"]))
    except concurrent.futures.TimeoutError:
        print("timed out")
