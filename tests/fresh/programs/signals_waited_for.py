"""Signals that are waited for in every way there is, and mistakes in doing so."""

import os
import signal
import threading
import time


class Rung(Exception):
    pass


def send(number):
    time.sleep(0.02)
    os.kill(os.getpid(), number)


def after(number):
    threading.Thread(target=send, args=[number]).start()


def ring(number, frame):
    raise Rung(number)


mine = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, mine)
after(signal.SIGUSR2)
print(repr(signal.sigwait(iter(mine))))
after(signal.SIGUSR1)
info = signal.sigwaitinfo(mine)
print(info.si_signo, info.si_pid == os.getpid(), type(info))
print(signal.sigtimedwait(mine, 0.05), signal.sigtimedwait(mine, 0))
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigpending(), signal.sigtimedwait(mine, 5).si_signo)
signal.signal(signal.SIGALRM, lambda number, frame: print("handles", number))
signal.setitimer(signal.ITIMER_REAL, 0.05)
print(signal.pause())
signal.signal(signal.SIGALRM, ring)
for wait in (signal.pause, lambda: signal.sigwaitinfo(mine), lambda: signal.sigtimedwait(mine, 9)):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        wait()
    except Rung as error:
        print("rung", error)
mistakes = (lambda: signal.sigwait({0}), lambda: signal.sigwait({"a"}), lambda: signal.sigtimedwait(mine, "x"))
for wait in (*mistakes, lambda: signal.sigwait(3)):
    try:
        wait()
    except Exception as error:
        print(type(error).__name__, error)
signal.pthread_sigmask(signal.SIG_UNBLOCK, mine)
print("over")
