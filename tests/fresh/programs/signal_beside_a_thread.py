"""A handler that sleeps and prints while a thread works, whatever the main thread waits for."""

import os
import signal
import threading
import time

done = threading.Semaphore(0)


def handler(number, frame):
    print("heard", flush=True)
    for turn in range(3):
        time.sleep(0.013)
        print("handles", turn, flush=True)
    done.release()


def work(then):
    for turn in range(6):
        time.sleep(0.01)
        print("works", turn, flush=True)
        if turn == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
    done.acquire()
    then()


signal.signal(signal.SIGUSR1, handler)
for wait in ("join", "lock", "sleep"):
    lock = threading.Lock()
    lock.acquire()
    thread = threading.Thread(target=work, args=[lock.release])
    thread.start()
    if wait == "lock":
        lock.acquire()
    elif wait == "sleep":
        time.sleep(0.3)
    thread.join()
    print("over", flush=True)
