"""A pipe and a pair of sockets that a thread writes to, waited for with a selector and with select."""

import os
import select
import selectors
import signal
import socket
import threading
import time

import reenact


@reenact.tool(effect="read")
def look(number):
    time.sleep(0.003)
    return number


read, write = os.pipe()
left, right = socket.socketpair()


def work():
    for number in range(60):
        look(number)
        os.write(write, b"x")
        if number % 2:
            right.send(b"y")


threading.Thread(target=work).start()
chooser = selectors.DefaultSelector()
chooser.register(read, selectors.EVENT_READ, "pipe")
chooser.register(left, selectors.EVENT_READ, "pair")
seen, taken = [], 0
while taken < 45:
    for key, events in chooser.select(0.0031):
        taken += len(os.read(read, 1)) if key.data == "pipe" else len(left.recv(1)) * 0
        seen.append(key.data)
    seen.append(str([len(each) for each in select.select([read, left], [], [], 0.0031)]))
print(" ".join(seen))
print([len(each) for each in select.select([os.pipe()[0]], [], [], 0.001)])
try:
    select.select([read], [], [], -1)
except ValueError as error:
    print(error)
chooser.close()
try:
    chooser.select(0.001)
except Exception as error:
    print(type(error).__name__)
signal.signal(signal.SIGALRM, lambda number, frame: print("handles", number))
signal.setitimer(signal.ITIMER_REAL, 0.02)
while select.select([read], [], [], 0.05)[0]:
    os.read(read, 100)
print("over")
