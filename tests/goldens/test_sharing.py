"""Proof that goldens which share a process come to what they come to in processes of their own: what a program leaves
there is put back, or ends the process, or is not believed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from reenact.seams.boot.warmth import Warmth
from reenact.testing.goldens.batch import How, run_goldens
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import run_golden
from reenact.testing.goldens.sharing import Sharing

from .yard import Yard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process is shared where it has scratch of its own")

AGENT = """
import asyncio, atexit, builtins, gc, locale, multiprocessing.util, os, random, signal, sys, threading, time, uuid
import weakref

import reenact
import installed_caching
import own


@reenact.tool(effect="read")
def look(what: str, **more: object) -> dict:
    return {"found": what, "more": len(more)}


def state() -> dict:
    # What an agent could find of one that ran here before it.
    return {
        "globals": "left" in globals(),
        "own": own.count(),
        "environment": os.environ.get("LEFT"),
        "folder": os.path.basename(os.getcwd()),
        "threads": threading.active_count(),
        "arguments": [sys.argv[1:], len(sys.orig_argv)],
        "umask": oct(os.umask(0o22)),
        "signal": str(signal.getsignal(signal.SIGUSR1)),
        "recursion": sys.getrecursionlimit(),
        "path": sys.path[0] == os.getcwd() and "/left" not in sys.path,
        "files": os.path.exists("left.txt"),
        "hook": sys.excepthook is sys.__excepthook__,
        "name": __name__,
        "main": sys.modules["__main__"].__dict__ is globals(),
        "builtins": hasattr(builtins, "left"),
        "gc": gc.isenabled(),
        "exit": os._exit.__name__,
    }


def leave(what: str) -> None:
    global left
    left = 1
    if what == "folder":
        os.chdir("/")
    elif what == "path":
        sys.path.insert(0, "/left")
    elif what == "argument":
        sys.argv.append("left")
    elif what == "variable":
        os.environ["LEFT"] = "yes"
    elif what == "thread":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    elif what == "umask":
        os.umask(0o77)
    elif what == "signal":
        signal.signal(signal.SIGUSR1, lambda *_: None)
    elif what == "recursion":
        sys.setrecursionlimit(4321)
    elif what == "file":
        open("left.txt", "w").write("left")
    elif what == "descriptor":
        os.dup(0)
    elif what == "builtin":
        builtins.left = 1
    elif what == "collector":
        gc.disable()
    elif what == "locale":
        locale.setlocale(locale.LC_ALL, "C")
    elif what == "exit":
        atexit.register(look, "at the end")
    elif what == "library's exit":
        installed_caching.at_exit(look, "at the end")
    elif what == "finalizer":
        weakref.finalize(own.count, look, "at the end")
    elif what == "process finalizer":
        multiprocessing.util.Finalize(None, look, ("at the end",), exitpriority=1)
    elif what == "threads' end":
        threading._register_atexit(look, "at the end")
    elif what == "compiled":
        os.makedirs("__pycache__", exist_ok=True)
        open("__pycache__/left", "w").close()
    elif what == "loop":
        asyncio.run(asyncio.sleep(0))
    elif what == "raise":
        raise TimeoutError("too late")
    elif what == "status":
        sys.exit(3)
    elif what == "hook":
        sys.excepthook = print
    elif what == "leave":
        os._exit(0)


if __name__ == "__main__":
    was = state()
    look("first", **{"at": time.time(), "draw": random.random(), "bytes": os.urandom(4).hex(), "state": str(was)})
    look("draws", at=time.time(), draw=random.random(), name=str(uuid.uuid4()))
    print("printed")
    leave(sys.argv[1] if sys.argv[1:] else open("leave.txt").read())
"""
OWN = """
_counted = []

def count():
    _counted.append(1)
    return len(_counted)
"""
INSTALLED = '''
"""A module as it is installed: it reads when it is imported, and keeps what it was told."""
import atexit, os, random, time

BORN = time.time(), os.urandom(4), random.random()
KEPT = {}
atexit.register(KEPT.clear)

def once(key, find):
    if key not in KEPT:
        KEPT[key] = find(key)
    return KEPT[key]

def at_exit(*call):
    atexit.register(*call)
'''
CACHED = """
import reenact, installed_caching

@reenact.tool(effect="read")
def search(what: str) -> str:
    return "nothing"

@reenact.tool(effect="read")
def ask() -> str:
    return "done"

installed_caching.once("it", search)
ask()
"""
PUT_BACK = ("nothing", "folder", "path", "argument", "variable", "hook", "loop", "status")
ENDS = (
    *("thread", "umask", "signal", "recursion", "file", "descriptor", "builtin", "collector", "locale", "leave"),
    *("compiled", "exit", "library's exit", "finalizer", "threads' end", "raise"),
)
TELLING = ("status", "exit", "library's exit", "finalizer", "process finalizer", "threads' end", "raise")
"""What shows in the run itself, which has to be recorded so."""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    folder = tmp_path_factory.mktemp("yard")
    library = folder / "site-packages"
    library.mkdir()
    (library / "installed_caching.py").write_text(INSTALLED)
    made = Yard(folder, {"PYTHONPATH": str(library), "LC_ALL": "C.UTF-8"})
    made.write("own.py", OWN)
    made.write("agent.py", AGENT)
    made.write("leave.txt", "nothing")
    for what in ("", *TELLING):
        made.record("agent.py", *filter(None, [what]))
        made.keep(name_of(what), ())
        made.keep(f"judged/{name_of(what)}", ("calls(look) >= 2",))
    made.write("cached.py", CACHED)
    made.record("cached.py")
    made.keep("cached", ("calls(search) == 0",))
    made.keep("cached_as_ever", ("calls(search) == 1",))
    yield made


def name_of(what: str) -> str:
    """The golden of a program that leaves that."""
    return what.replace(" ", "_").replace("'", "") if what in TELLING else "plain"


@pytest.fixture(autouse=True)
def here(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as a command in the project would be."""
    yard.enter(monkeypatch)
    yard.write("leave.txt", "nothing")


def told(outcome: Outcome) -> Outcome:
    """All of it but how long it took, and where."""
    return replace(outcome, duration_us=0, enforcement=())


@pytest.fixture(scope="module")
def warmth() -> Iterator[Warmth]:
    """One interpreter for all: what a golden comes to in a fork of it is what it comes to by itself (``test_warm``)."""
    with Warmth(1) as made:
        yield made


@dataclass
class Stage:
    """Runs goldens in a process that they share.

    Attributes:
        apart: How many ran by themselves.
    """

    yard: Yard
    warmth: Warmth
    apart: int = 0

    def _apart(self, *program: Any, **options: Any) -> int:
        self.apart += 1
        return self.warmth(*program, **options)

    def alone(self, name: str) -> Outcome:
        """One in a process of its own."""
        with as_ever():
            return told(run_golden(self.yard.shelf, name, start_it=self.warmth))

    def __call__(self, *names: str) -> list[Outcome]:
        """One after another."""
        sharing = Sharing(self.warmth.sharing, set())
        with as_ever():
            return [told(run_golden(self.yard.shelf, name, start_it=self._apart, sharing=sharing)) for name in names]

    def leaving(self, what: str) -> None:
        """From now on programs leave that."""
        self.yard.write("leave.txt", what)

    @contextmanager
    def taking(self, processes: int, apart: int = 0) -> Iterator[None]:
        """What is run in the block takes so many processes, the one that is there not counted, and so many of them
        because it was not believed there."""
        before = self.warmth.processes, self.apart
        yield
        assert (self.warmth.processes - before[0], self.apart - before[1]) == (processes, apart)


@contextmanager
def as_ever() -> Iterator[None]:
    """Without the variable that names the test: interpreters that are started alike serve all of them."""
    name = os.environ.pop("PYTEST_CURRENT_TEST", None)
    try:
        yield
    finally:
        os.environ.update({} if name is None else {"PYTEST_CURRENT_TEST": name})


@pytest.fixture
def shared(yard: Yard, warmth: Warmth, here: None) -> Stage:
    found = Stage(yard, warmth)
    assert [each.status for each in found("plain")] == ["passed"]  # from here on there is a process that stays
    return found


@pytest.mark.parametrize("judged", ["", "judged/"], ids=["same", "judged"])
@pytest.mark.parametrize("what", PUT_BACK)
def test_what_can_be_put_back_is_and_the_process_stays(shared: Stage, what: str, judged: str) -> None:
    shared.leaving(what)
    name = judged + name_of(what)
    alone = shared.alone(name)
    assert alone.status == "passed", alone.message
    with shared.taking(processes=0):
        assert shared(name, name, name) == [alone] * 3


@pytest.mark.parametrize("judged", ["", "judged/"], ids=["same", "judged"])
@pytest.mark.parametrize("what", ENDS)
def test_what_cannot_be_put_back_ends_the_process(shared: Stage, what: str, judged: str) -> None:
    shared.leaving(what)
    name = judged + name_of(what)
    alone = shared.alone(name)
    assert alone.status == "passed", alone.message
    with shared.taking(processes=1):
        assert shared(name) == [alone]
        shared.leaving("nothing")
        assert [each.status for each in shared("plain")] == ["passed"]


@pytest.mark.parametrize("judged", ["", "judged/"], ids=["same", "judged"])
def test_what_an_installed_module_calls_at_the_end_is_not_believed_there(shared: Stage, judged: str) -> None:
    name = judged + name_of("process finalizer")
    alone = shared.alone(name)
    assert alone.status == "passed", alone.message
    with shared.taking(processes=2, apart=1):  # it is called when the session of this program is over
        assert shared(name) == [alone]
        assert [each.status for each in shared("plain")] == ["passed"]


def test_a_golden_sees_the_process_as_its_own_whatever_ran_there(shared: Stage) -> None:
    with shared.taking(processes=0):
        for what in PUT_BACK * 2:
            shared.leaving(what)
            assert [each.status for each in shared(name_of(what))] == ["passed"], what


def test_a_call_that_a_library_has_kept_the_answer_of_is_not_believed_away(shared: Stage) -> None:
    found = shared("cached_as_ever", "cached", "cached_as_ever")
    assert [each.status for each in found] == ["passed", "failed", "passed"]


def test_code_that_has_changed_is_what_runs(shared: Stage, yard: Yard) -> None:
    try:
        yard.write("own.py", OWN.replace("len(_counted)", "len(_counted) + 1000"))
        assert [each.status for each in shared("plain")] == ["failed"]
    finally:
        yard.write("own.py", OWN)
    assert [each.status for each in shared("plain")] == ["passed"]


def test_what_python_compiles_for_itself_is_nothing_left(shared: Stage, yard: Yard) -> None:
    for compiled in (yard.project / "__pycache__").iterdir():
        compiled.unlink()
    with shared.taking(processes=0):
        assert [each.status for each in shared("plain", "judged/plain")] == ["passed"] * 2


def test_what_fails_is_told_of_a_process_of_its_own(shared: Stage, yard: Yard) -> None:
    try:
        yard.write("agent.py", AGENT.replace('look("draws"', 'look("else"'))
        alone = shared.alone("judged/plain")
        found = shared("judged/plain", "judged/plain")
    finally:
        yard.write("agent.py", AGENT)
    assert alone.status == "stale"
    assert found == [alone] * 2


def test_after_one_that_fails_the_next_is_not_tried_twice(shared: Stage, yard: Yard) -> None:
    try:
        yard.write("own.py", OWN.replace("len(_counted)", "len(_counted) + 1000"))
        with shared.taking(processes=3, apart=3):  # each by itself; the first was tried in the process that is there
            assert [each.status for each in shared("plain", "plain", "plain")] == ["failed"] * 3
    finally:
        yard.write("own.py", OWN)
    with shared.taking(processes=1):  # in a process that stays from now on, or is the one that was there
        assert [each.status for each in shared("plain", "plain")] == ["passed"] * 2


def test_nothing_of_ours_piles_up_either(shared: Stage) -> None:
    with shared.taking(processes=0):
        assert {each.status for each in shared(*["plain", "judged/plain"] * 200, "raise")} == {"passed"}


def test_goldens_are_run_apart_where_that_is_wanted(yard: Yard) -> None:
    for apart in (False, True):
        found = run_goldens(yard.shelf, ["plain", "judged/plain"], How(workers=1, share=not apart))
        assert [each.status for each in found] == ["passed"] * 2
        assert any("other programs" in " ".join(each.enforcement) for each in found) is not apart


MODULE = """
import reenact

@reenact.tool(effect="read")
def look(what: str) -> dict:
    return {"found": what}

@reenact.record(agent="entry")
def entry(question: str) -> str:
    return look(question)["found"]

if __name__ == "__main__":
    print(entry("what"))
"""


def test_entry_points_share_a_process(shared: Stage, yard: Yard) -> None:
    yard.write("served.py", MODULE)
    done = yard.run("python", "-c", "import served; served.entry('what')")
    assert done.returncode == 0, done.stderr
    yard.keep("entry", ("'what' in answer",))
    yard.keep("entry_same", ())
    alone = [shared.alone("entry"), shared.alone("entry_same")]
    assert [each.status for each in alone] == ["passed"] * 2
    with shared.taking(processes=1):
        assert shared("entry", "entry_same", "entry", "entry_same") == alone * 2


def test_a_module_that_is_run_shares_a_process(shared: Stage, yard: Yard) -> None:
    yard.write("moduled.py", AGENT)
    done = yard.reenact("record", "--", "python", "-m", "moduled")
    assert "-> reenact show" in done.stderr, done.stderr
    yard.keep("moduled", ())
    alone = shared.alone("moduled")
    assert alone.status == "passed", alone.message
    with shared.taking(processes=1):
        assert shared("moduled", "moduled", "moduled") == [alone] * 3


def test_a_shared_process_is_gone_with_whoever_started_it(yard: Yard) -> None:
    with Warmth(1) as warmth:
        run_golden(yard.shelf, "plain", start_it=warmth, sharing=Sharing(warmth.sharing, set()))
        (pid,) = warmth._ran_in
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
