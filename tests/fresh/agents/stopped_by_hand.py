"""A person presses Ctrl-C while the agent waits for its third answer: KeyboardInterrupt nobody handles (requests)."""

import os
import signal
import threading
import time

import requests

WORLD = os.environ["WORLD_URL"]
for number in range(2):
    print(requests.get(f"{WORLD}/tools/lookup?n={number}", timeout=5).json()["text"], flush=True)
try:
    print("now it hangs", time.time())
    raise KeyboardInterrupt
finally:
    print("cleaning up", threading.active_count(), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
