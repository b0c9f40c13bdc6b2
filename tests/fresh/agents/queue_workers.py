"""Worker threads take jobs from a queue and put results into another (urllib.request); sentinels end them."""

import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request

WORLD = os.environ["WORLD_URL"]
jobs: "queue.Queue[int | None]" = queue.Queue(maxsize=4)
results: "queue.Queue[tuple[int, str, object]]" = queue.Queue()


def work() -> None:
    name = threading.current_thread().name
    while (job := jobs.get()) is not None:
        kind = "broken" if job % 7 == 0 else "moody" if job % 3 == 0 else "lookup"
        try:
            with urllib.request.urlopen(f"{WORLD}/tools/{kind}?job={job}", timeout=5) as reply:
                results.put((job, name, json.load(reply)["value"]))
        except (urllib.error.HTTPError, ValueError) as error:
            results.put((job, name, f"{type(error).__name__}: {error}"))
        finally:
            jobs.task_done()
    jobs.task_done()


workers = [threading.Thread(target=work, name=f"worker-{number}") for number in range(5)]
for worker in workers:
    worker.start()
for job in range(25):
    jobs.put(job)
for _ in workers:
    jobs.put(None)
jobs.join()
for worker in workers:
    worker.join()
while not results.empty():
    print(*results.get())
print(time.strftime("%Y-%m-%d %H:%M:%S"))
