"""Logging through a queue and a listener thread, a heartbeat in a daemon thread that outlives main (openai)."""

import logging
import logging.handlers
import queue
import sys
import threading
import time

from openai import OpenAI

lines: "queue.Queue[logging.LogRecord]" = queue.Queue()
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(relativeCreated)d %(message)s"))
listener = logging.handlers.QueueListener(lines, handler)
logging.basicConfig(level=logging.INFO, handlers=[logging.handlers.QueueHandler(lines)])
beats = 0


def heartbeat() -> None:
    global beats
    while True:
        time.sleep(0.005)
        beats += 1


listener.start()
threading.Thread(target=heartbeat, daemon=True, name="heart").start()
client = OpenAI()
for number in range(4):
    reply = client.embeddings.create(
        model="text-embedding-3-small", input=[f"text {number}", "other"], encoding_format="float"
    )
    logging.info("vector %s after %s", reply.data[0].embedding[:2], "some beats" if beats else "no beat")
listener.stop()
print("beats counted", beats > 0)
