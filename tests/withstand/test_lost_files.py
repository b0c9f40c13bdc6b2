"""Proves that a full disk, closed descriptors and a busy store cost the recording alone, and are said once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.errors import StoreBusy, StoreError
from reenact.facts.record import GapNoted, Record, RunClosed
from reenact.facts.run import Run, Status
from reenact.recording.writer import BUSY_ATTEMPTS, Writer
from reenact.store import open_store
from tests.withstand.stage import environment

resource = pytest.importorskip("resource", reason="this system limits no file sizes")

TOOL = """
import os, random, signal, sys
import reenact

@reenact.tool(effect="read")
def look(number):
    return random.randbytes(9000).hex()
"""

FULL = (
    TOOL
    + """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with reenact.record(agent="full", store="kept") as run:
    look(0)
    run.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat("kept/store.db-wal").st_size, resource.RLIM_INFINITY))
    for number in range(60):
        look(number)
    if sys.argv[1] == "fails":
        sys.exit("it went wrong")
print("done")
sys.exit(5)
"""
)

CLOSED = (
    TOOL
    + """
with reenact.record(agent="daemon", store="kept") as run:
    look(0)
    run.flush()
    os.closerange(3, 256)
    mine = [open(f"mine-{number}", "w") for number in range(12)]  # they get the numbers that are free now
    look(1)
for number, file in enumerate(mine):
    file.write("own words")
print("done")
sys.exit(5)
"""
)

FLUSHED = (
    TOOL
    + """
with reenact.record(agent="flushed", store="kept") as run:
    for number in range(7):
        look(number)
    run.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
)


def _ran(folder: Path, text: str, *arguments: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (folder / "agent.py").write_text(text)
    return subprocess.run(
        [sys.executable, *flags, "agent.py", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def _kept(folder: Path) -> Run:
    with open_store(str(folder / "kept")) as store:
        return store.run("@")


@pytest.mark.parametrize("flags", [(), ("-W", "error::RuntimeWarning")])
def test_a_full_disk_in_a_block_is_said_once_and_the_run_has_ended(tmp_path: Path, flags: tuple[str, ...]) -> None:
    ended = _ran(tmp_path, FULL, "ends", flags=flags)
    assert (ended.stdout, ended.returncode) == ("done\n", 5), ended.stderr
    assert ended.stderr.count("the recording is incomplete: store.db cannot be written") == 1
    assert ended.stderr.count("next: df -h") == 1 and "Traceback" not in ended.stderr
    run = _kept(tmp_path)
    assert run.status is Status.OK and run.ended_us and "could not be written" in run.degraded[-1]
    assert run.totals.events == 1, "what was written before can be read"
    with open_store(str(tmp_path / "kept")) as store:
        assert [each.id for each in store.runs(status="ok")] == [run.id]
        assert [*store.runs(status="interrupted")] == []
        store.delete(run.id)
    assert [*(tmp_path / "kept" / "live").iterdir()] == [], "nothing is left beside the file"


def test_a_run_that_failed_on_a_full_disk_reads_as_failed(tmp_path: Path) -> None:
    ended = _ran(tmp_path, FULL, "fails")
    assert ended.returncode == 1 and "it went wrong" in ended.stderr
    assert _kept(tmp_path).status is Status.FAILED


def test_what_closes_all_descriptors_keeps_its_own_files_and_ends_as_ever(tmp_path: Path) -> None:
    ended = _ran(tmp_path, CLOSED)
    assert (ended.stdout, ended.returncode) == ("done\n", 5), ended.stderr
    assert ended.stderr.count("their descriptors are closed") == 1
    assert {file.read_text() for file in tmp_path.glob("mine-*")} == {"own words"}
    run = _kept(tmp_path)
    assert run.status is Status.OK and run.degraded and run.totals.events == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills otherwise")
def test_what_was_flushed_survives_the_process(tmp_path: Path) -> None:
    assert _ran(tmp_path, FLUSHED).returncode == -signal.SIGKILL
    run = _kept(tmp_path)
    assert run.status is Status.INTERRUPTED and run.totals.events == 7


FLUSH_FULL = FULL.replace(
    '    if sys.argv[1] == "fails":',
    """    try:
        run.flush()
    except reenact.ReenactError as error:
        print(str(error).partition("\\n")[0])
    if False:""",
)


def test_a_flush_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    assert _ran(tmp_path, FLUSH_FULL).stdout == "what was recorded so far is not on the disk\ndone\n"


FLUSH_CLOSED = (
    TOOL
    + """
with reenact.record(agent="closed", store="kept") as run:
    look(1)
    os.closerange(3, 200)
    look(2)
    try:
        run.flush()
    except reenact.ReenactError as error:
        print(error.cause, error.next_command, sep=chr(10))
"""
)


def test_a_flush_says_why_nothing_is_kept(tmp_path: Path) -> None:
    said = _ran(tmp_path, FLUSH_CLOSED).stdout
    assert said == "the recording has lost its files: their descriptors are closed\nreenact ls\n"


class Log:
    """A log whose store refuses so many batches.

    Args:
        errors: What each of the first batches is refused with.
    """

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.kept: list[Record] = []

    def write(self, records: list[Record], *, durable: bool = False) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.kept += records

    def close(self) -> None:
        """Nothing."""


class Clean:
    """Cleans nothing."""

    def clean(self, record: Record) -> tuple[Record, ...]:
        return (record,)

    def flush(self) -> tuple[Record, ...]:
        return ()


def _written(log: Log, *records: Record) -> list[Exception]:
    """Write records, one after the other; what was told."""
    faults: list[Exception] = []
    writer = Writer(log, Clean(), tuple, faults.append, repr)  # type: ignore[arg-type]
    for record in records:
        writer.put(record)
        writer.flush()
    writer.close()
    return faults


BUSY = StoreBusy("held by another process")
SOME = [GapNoted("something", str(number)) for number in range(5)]
END = RunClosed(Run(id="r", status=Status.OK))


def test_a_batch_waits_for_a_store_that_is_busy(tmp_path: Path) -> None:
    log = Log(*[BUSY] * (BUSY_ATTEMPTS - 1))
    assert _written(log, *SOME, END) == []
    assert log.kept == [*SOME, END], "in their order, each once"


def test_a_batch_is_given_up_in_the_end_and_the_run_tells_so() -> None:
    log = Log(*[BUSY] * BUSY_ATTEMPTS)
    assert [type(fault) for fault in _written(log, END)] == [StoreBusy]
    (kept,) = log.kept
    assert isinstance(kept, RunClosed) and kept.run.status is Status.OK
    assert "another process wrote for too long" in kept.run.degraded[0]


def test_of_a_batch_that_cannot_be_written_the_end_is() -> None:
    log = Log(StoreError("the disk is full"))
    assert len(_written(log, END)) == 1
    (kept,) = log.kept
    assert isinstance(kept, RunClosed) and kept.run.degraded == ("StoreError: the disk is full",)
