"""Clocks that stay real while a run is recorded; the names of the ``time`` module are read through the recorder."""

from __future__ import annotations

import time


class Real:
    """The real clocks. Attributes of a class, because names of modules are bound again while a run is recorded."""

    now_ns = staticmethod(time.perf_counter_ns)
    thread_ns = staticmethod(time.thread_time_ns)
