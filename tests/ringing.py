"""What programs that are rung by an alarm begin with, where they are forked and where they go on."""

from __future__ import annotations

import signal

import pytest

ALARMS = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")

RUNG = """
    import asyncio, os, signal, threading, time
    import reenact

    def ring(number, frame):
        raise TimeoutError(signal.Signals(number).name)

    @reenact.tool(effect="read")
    def work(seconds):
        time.sleep(seconds)
        return f"worked {seconds}"

    signal.signal(signal.SIGALRM, ring)
"""
