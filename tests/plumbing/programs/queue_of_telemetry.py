"""Telemetry that a thread hands over from a queue while the program waits for it to be empty."""

import json
import queue
import random
import threading
import time
import urllib.request


def post(path, body):
    request = urllib.request.Request("WORLD" + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


todo = queue.Queue()


def hand_over():
    while True:
        name = todo.get()
        post("/v1/logs", {"resourceLogs": [{"name": name, "id": random.random()}]})
        todo.task_done()
        time.sleep(0)


def watch():
    while True:
        time.sleep(10)


for each in (hand_over, watch):
    threading.Thread(target=each, daemon=True).start()
for name in range(3):
    todo.put(name)
deadline = time.time() + 5
with todo.all_tasks_done:
    while todo.unfinished_tasks and time.time() < deadline:
        todo.all_tasks_done.wait(timeout=deadline - time.time())
print(post("/ask", {})["value"])
