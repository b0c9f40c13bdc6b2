"""A handler that raises out of a join while the thread works on."""

import os
import signal
import threading
import time


def handler(number, frame):
    time.sleep(0.01)
    raise TimeoutError("heard")


def work():
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
    for turn in range(5):
        time.sleep(0.01)
        print("works", turn, flush=True)


signal.signal(signal.SIGUSR1, handler)
thread = threading.Thread(target=work)
thread.start()
try:
    thread.join()
except TimeoutError as error:
    print(error, flush=True)
for turn in range(5):
    time.sleep(0.01)
    print("goes on", turn, flush=True)
thread.join()
