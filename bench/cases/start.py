"""How long it takes to begin: imports, ``--help``, and a program that does nothing, each in a fresh interpreter."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from statistics import median

from bench.absent import Absent

TRIES = 5
ALTERNATING = 5
"""Starts of each command in a round: with five rounds, more than twenty of each."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once, as they are wherever something is installed, and not at each start."""


def clock(*arguments: str) -> dict[str, float]:
    """Milliseconds from the start of an interpreter to its end: the median of some tries."""
    took = []
    for _ in range(TRIES):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        took.append((time.perf_counter() - start) * 1e3)
    return {"ms": median(took)}


def import_bare(size: int) -> Mapping[str, float]:
    """An interpreter that does nothing: what is taken off the other imports."""
    return clock("-c", "pass")


def over_bare(code: str) -> Mapping[str, float]:
    """Milliseconds over an interpreter that does nothing, measured alternately."""
    bare, full = [], []
    clock_once(code)  # compiles what is not compiled yet
    for _ in range(TRIES):
        bare.append(clock_once("pass"))
        full.append(clock_once(code))
    return {"ms": median(full) - median(bare)}


def clock_once(code: str) -> float:
    """Milliseconds of one interpreter with one piece of code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return (time.perf_counter() - start) * 1e3


def import_reenact(size: int) -> Mapping[str, float]:
    """``import reenact``, the facade alone."""
    return over_bare("import reenact")


def import_recorder(size: int) -> Mapping[str, float]:
    """``import reenact`` and what a program that records itself uses."""
    return over_bare("import reenact; reenact.record, reenact.tool, reenact.step")


def import_standard(size: int) -> Mapping[str, float]:
    """The parts of the standard library that a recorder of asynchronous programs stands on."""
    return over_bare("import asyncio, sqlite3, json, hashlib, threading, dataclasses, inspect, logging")


def import_vcr(size: int) -> Mapping[str, float]:
    """``import vcr``."""
    if importlib.util.find_spec("vcr") is None:
        raise Absent("vcrpy is not installed")
    return over_bare("import vcr")


def show_help(size: int) -> Mapping[str, float]:
    """``reenact --help``, the interpreter's own start included."""
    return clock("-m", "reenact", "--help")


def record_short(size: int) -> Mapping[str, float]:
    """``reenact record -- python -c pass``: the processor's time of the command and of the program together."""
    with tempfile.TemporaryDirectory(prefix="reenact-bench-") as folder:
        return _spent(folder, "record", "--", sys.executable, "-c", "pass")


def replay_short(size: int) -> Mapping[str, float]:
    """``reenact replay @`` of that run."""
    with tempfile.TemporaryDirectory(prefix="reenact-bench-") as folder:
        _processor_ms(folder, "record", "--", sys.executable, "-c", "pass")
        return _spent(folder, "replay", "@")


def starts(size: int) -> Mapping[str, float]:
    """Commands over a program that does nothing, and a bare interpreter in alternation: milliseconds on the wall."""
    ours = (sys.executable, "-m", "reenact")
    kept = (*ours, "record", "--", sys.executable, "-c", "pass")
    commands = {
        "bare": (sys.executable, "-c", "pass"),
        "help": (*ours, "--help"),
        "ls": (*ours, "ls"),
        "show": (*ours, "show", "@"),
        "record": kept,
        "replay": (*ours, "replay", "@"),
    }
    with tempfile.TemporaryDirectory(prefix="reenact-bench-") as folder:
        for words in (kept, *commands.values()):  # makes the run, and compiles what is not compiled yet
            _wall_ms(folder, words)
        took: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ALTERNATING):
            for name, words in commands.items():
                took[name].append(_wall_ms(folder, words))
    return {name: median(values) for name, values in took.items()}


def _wall_ms(folder: str, words: tuple[str, ...]) -> float:
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(words, check=True, stdout=quiet, stderr=quiet, env=ENVIRONMENT, cwd=folder)
    return (time.perf_counter() - start) * 1e3


def _spent(folder: str, *arguments: str) -> dict[str, float]:
    """Milliseconds of the processor, of the command and all that it has waited for: the median of some tries."""
    _processor_ms(folder, *arguments)  # compiles what is not compiled yet
    return {"ms": median(_processor_ms(folder, *arguments) for _ in range(TRIES))}


def _processor_ms(folder: str, *arguments: str) -> float:
    before = os.times()
    command = [sys.executable, "-m", "reenact", *arguments]
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stderr=quiet, env=ENVIRONMENT, cwd=folder)
    after = os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent * 1e3
