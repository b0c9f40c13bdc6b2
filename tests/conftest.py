"""What every test may use: the shared real data, the sweep switch, and the profiles of the property tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import lock_order
from tests.leftovers import Picture
from tests.parts import LIST, PARTS, elsewhere, names, split

ROOT = Path(__file__).resolve().parent.parent
_LISTED = names(LIST.read_text(encoding="utf-8"))


def _heed_signals() -> None:
    """Undo what a suite that was started in the background inherits: ignored signals, which programs that the tests
    start and signal would ignore too, for a Python that is born with ``SIGINT`` ignored never raises an interrupt."""
    for name, handler in (
        ("SIGINT", signal.default_int_handler),
        ("SIGQUIT", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    ):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


_heed_signals()

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=50)
settings.register_profile(
    "sweep", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
SWEEP = os.environ.get("REENACT_SWEEP", "") not in {"", "0"}
settings.load_profile("sweep" if SWEEP else "ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The part of the suite that runs: all of it, unless ``make`` asks for one part."""
    parser.addoption(
        "--part", choices=PARTS, default="all", help="run the tests that tests/long.txt names, or the others"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: there is always a test that waits, for a child, a server or a timer."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not load a file all of whose tests are in the other part, unless it is named on the command line."""
    part = config.getoption("--part")
    if part == "all" or collection_path.suffix != ".py" or not collection_path.is_relative_to(ROOT):
        return None
    where = config.invocation_params.dir
    if collection_path in {(where / argument.partition("::")[0]).resolve() for argument in config.args}:
        return None
    return True if elsewhere(collection_path.relative_to(ROOT).as_posix(), part, _LISTED) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the other part out."""
    part = config.getoption("--part")
    if part == "all":
        return
    short, long = split(((item.nodeid, item) for item in items), _LISTED)
    items[:], others = (short, long) if part == "short" else (long, short)
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def sweep() -> bool:
    """Whether every example of every sweep is wanted (``make sweep``), not a selection."""
    return SWEEP


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of this checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real provider traffic, which is not part of this project; skips where it is not at hand.

    ``REENACT_SHARED`` names the folder that holds ``data/``; without it ``shared`` beside the checkout is tried.
    """
    named = os.environ.get("REENACT_SHARED")
    data = (Path(named) if named else ROOT.parent / "shared") / "data"
    if not data.is_dir():
        pytest.skip("no shared data here: REENACT_SHARED names no folder with data/, and ../shared/data does not exist")
    return data


lock_order.install()


@pytest.fixture(autouse=True)
def locks_in_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test in which a lock of ours was taken out of its order: two threads could wait for each other."""
    lock_order.begin()
    with lock_order.unwatched() if request.node.get_closest_marker("interrupts") else nullcontext():
        yield
    assert not lock_order.broken, "\n".join(lock_order.broken)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test that leaves a session, a patched function, a thread, an environment variable or a folder behind:
    the next test would find them, and fail or pass by the order of tests."""
    before = Picture.taken()
    yield
    left = list(before.differences())
    assert not left, f"the test leaves behind: {'; '.join(left)}"
