"""The pytest plugin: runs the goldens that tests are marked with, and gives the tests their results.

pytest imports this module in every session of every project that has reenact installed. So it stands beside the
package, imports only pytest, and imports the package only when a golden is in play.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from reenact.testing.goldens.marked_test import Opener, Trial
    from reenact.testing.goldens.replayed_golden import Replayed
    from reenact.testing.goldens.session_goldens import SessionGoldens

_MODES = ("frozen", "missing", "rerecord", "review")
_NAME = "_reenact_golden"
_FOLDER = os.path.join("tests", "goldens")
_PLAYING: pytest.StashKey[SessionGoldens] = pytest.StashKey()
_TRIAL: pytest.StashKey[Trial] = pytest.StashKey()
_OPENER: pytest.StashKey[Opener] = pytest.StashKey()
_MARK = """\
reenact(NAME, ...): run today's code on the golden NAME before the test, and fail the test if it does not pass; a \
pattern, or several names, make a test of each golden"""


# --- options ---------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The options, which all begin with ``--reenact``, and the ini setting."""
    # pytest instruments the assertions of every package that brings a plugin. Ours has none, and hundreds of modules.
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("reenact")
    group = parser.getgroup("reenact", "golden traces of agents")
    group.addoption(
        "--reenact",
        choices=_MODES,
        help="What goldens may record. frozen (default): nothing, and the network is blocked; missing: answers that "
        "are missing, tools stay frozen; rerecord: those that were recorded later, again; review: nothing, it "
        "shows what today's code does differently, and fails unless --reenact-accept accepts it.",
    )
    group.addoption(
        "--reenact-accept",
        metavar="GOLDEN:EVENT=REASON",
        action="append",
        default=[],
        help="With --reenact=review: accept this difference, as a review shows it. May be given several times.",
    )
    group.addoption(
        "--reenact-accept-all",
        metavar="REASON",
        help="With --reenact=review: accept every other difference of the goldens that are run.",
    )
    group.addoption(
        "--reenact-report",
        metavar="DIR",
        help="Write summary.md and a page for each golden that did not pass; JUnit properties go to --junitxml.",
    )
    parser.addini("reenact_mode", "Mode where --reenact is not given; where CI is set it is frozen.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known, and refuses an unknown mode."""
    config.addinivalue_line("markers", _MARK)
    mode = _mode(config)
    if mode not in _MODES:
        raise pytest.UsageError(f"reenact_mode = {mode!r} in the ini file is no mode: it is one of {', '.join(_MODES)}")
    accepts = config.getoption("reenact_accept") or config.getoption("reenact_accept_all") is not None
    if accepts and mode != "review":
        raise pytest.UsageError("--reenact-accept accepts what a review shows: it goes with --reenact=review")
    for each in config.getoption("reenact_accept"):
        place, _, reason = each.partition("=")
        if ":" not in place or not reason.strip():
            raise pytest.UsageError(f"--reenact-accept={each} is not GOLDEN:EVENT=REASON")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Reporting(config), "reenact-reporting")


def _mode(config: pytest.Config) -> str:
    """The mode asked for on the command line; else the mode of the ini file, which on CI is always frozen."""
    asked: str | None = config.getoption("reenact")
    if asked:
        return asked
    on_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return "frozen" if on_ci else config.getini("reenact_mode") or "frozen"


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line where there are goldens."""
    here = config.invocation_params.dir
    if not any((each / _FOLDER).is_dir() for each in (here, *here.parents)):
        return None
    playing = _playing(config)
    count = len(playing.names(playing.golden_dir(here)))
    mode = _mode(config)
    network = "blocked" if mode in ("frozen", "review") else "open to models"
    return f"reenact: mode={mode}, network={network}, {count} golden{'' if count == 1 else 's'}" if count else None


def _playing(config: pytest.Config) -> SessionGoldens:
    """The goldens of this session. From here on a little of the package is loaded, and the rest with the first test."""
    found = config.stash.get(_PLAYING, None)
    if found is None:
        from reenact.testing.goldens.session_goldens import SessionGoldens

        found = config.stash[_PLAYING] = SessionGoldens()
    return found


# --- collection ------------------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test for each golden that a marker means, if the marker may mean several."""
    marker = metafunc.definition.get_closest_marker("reenact")
    if marker is None:
        return
    several = _playing(metafunc.config).several(metafunc.definition.path.parent, marker.args)
    if several is not None:
        metafunc.fixturenames.append(_NAME)
        metafunc.parametrize(_NAME, several, indirect=True, ids=several)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Notes which goldens tests name."""
    marker = item.get_closest_marker("reenact")
    if marker is not None:
        _playing(item.config).named(item.path.parent, _names(item, marker))


def _names(item: pytest.Item, marker: pytest.Mark) -> tuple[Any, ...]:
    """The name of a test's golden; several names where one test stands for several goldens, because pytest makes no
    test for each."""
    callspec = getattr(item, "callspec", None)
    if callspec is not None and _NAME in callspec.params:
        return (callspec.params[_NAME],)
    return marker.args


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def _reenact_golden(request: pytest.FixtureRequest) -> str:
    """Name of the golden, in a test that was made for it."""
    name: str = request.param
    return name


@pytest.fixture
def replayed(request: pytest.FixtureRequest) -> Replayed:
    """The replay of the golden that the test is marked with: ``.calls(NAME)``, ``.output``, ``.state(STEP)``,
    ``.steps``, ``.events``, ``.outcome``, and what ``reenact.Replay`` has."""
    trial = request.node.stash.get(_TRIAL, None)
    if trial is None:
        pytest.fail("the fixture replayed needs a golden: mark the test with @pytest.mark.reenact(NAME)", pytrace=False)
    given: Replayed = trial.replayed
    return given


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A marked test has a golden of its own, each time that it is run."""
    marker = item.get_closest_marker("reenact")
    if marker is not None:
        from reenact.testing.goldens.acceptance import Reasons
        from reenact.testing.goldens.marked_test import Opener, Trial

        config = item.config
        opener = config.stash.setdefault(_OPENER, Opener())
        golden_dir = _playing(config).golden_dir(item.path.parent)
        everything = config.getoption("reenact_accept_all")
        reasons = Reasons.parse(config.getoption("reenact_accept"), everything, "--reenact-accept")
        item.stash[_TRIAL] = Trial(golden_dir, _names(item, marker), _mode(config), opener, reasons)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Judges the golden, then runs the body, kept from the network."""
    trial = item.stash.get(_TRIAL, None)
    if trial is None:
        return (yield)
    try:
        trial.judge()
        with trial.kept_from_the_world():
            return (yield)
    finally:
        item.user_properties.extend(trial.properties())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed golden is reported in its own words, and its outcome is sent with the report."""
    report = yield
    trial = item.stash.get(_TRIAL, None)
    if trial is None or call.when != "call" or not trial.begun:
        return report
    error = call.excinfo.value if call.excinfo is not None else None
    if error is not None and error is trial.complaint:
        report.longrepr = _in_words(item, str(error))
    why = f"{type(error).__name__}: {error}" if error is not None else report.longreprtext
    body = f"the body of {item.nodeid} failed: {why}" if report.failed else ""
    vars(report)["reenact"] = json.loads(json.dumps(trial.told(body), default=str))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let go of the rest of the golden after the fixtures of the test."""
    try:
        return (yield)
    finally:
        trial = item.stash.get(_TRIAL, None)
        if trial is not None:
            del item.stash[_TRIAL]  # else the session would hold every run until its end
            trial.close()


def _in_words(item: pytest.Item, text: str) -> Any:
    """A failure without a traceback, at the place of the test: nothing in it is of interest but its words."""
    from _pytest._code import code

    path, line, _ = item.reportinfo()
    first = " ".join(text.splitlines()[:2])
    return code.ReprExceptionInfo(
        reprtraceback=code.ReprTraceback([code.ReprEntryNative(f"{text}\n".splitlines(True))], None, style="native"),
        reprcrash=code.ReprFileLocation(os.fspath(path), (line or 0) + 1, f"reenact.errors.GoldenMismatch: {first}"),
    )


# --- in the end ------------------------------------------------------------------------------------------------------


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells which goldens its tests name."""
    config = session.config
    told: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if told is not None:
        told["reenact"] = config.stash[_PLAYING].told() if _PLAYING in config.stash else []


class _Reporting:
    """The part in the process that reports. That process runs the tests itself, or has workers for them.

    Args:
        config: Of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._written: list[Path] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the outcome of a golden."""
        told = getattr(report, "reenact", None)
        if told is not None:
            _playing(self._config).came_of(told)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Keeps which goldens the tests of a worker name."""
        used = getattr(node, "workeroutput", {}).get("reenact")
        if used:
            _playing(self._config).heard(used)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Writes the summary and the pages."""
        folder = self._config.getoption("reenact_report")
        if folder:
            self._written = _playing(self._config).write(self._config.invocation_params.dir / folder)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints the place of the summary, the goldens that do not run changed code, and the goldens that no test
        names."""
        for path in self._written[:1]:
            terminalreporter.write_line(f"reenact: wrote {path} and {len(self._written) - 1} pages")
        if _PLAYING not in self._config.stash:
            return
        unseen = _playing(self._config).unseen()
        if unseen:
            terminalreporter.section("goldens that have passed without running a changed tool", yellow=True)
            for line in unseen:
                terminalreporter.write_line(line)
        collected = not any(isinstance(each, pytest.CollectReport) for each in terminalreporter.stats.get("error", ()))
        unused = _playing(self._config).unused(_whole(self._config)) if collected else []
        if unused:
            terminalreporter.section("goldens that no test names", yellow=True)
            for line in unused:
                terminalreporter.write_line(line)
            terminalreporter.write_line("reenact: name them in @pytest.mark.reenact(...), or: reenact golden rm NAME")


_PARTIAL = ("keyword", "markexpr", "deselect", "lf", "ignore", "ignore_glob", "collectonly")
"""Options by which less than everything is collected."""


def _whole(config: pytest.Config) -> list[Path]:
    """The folders whose tests were collected, all of them; none where a part was asked for."""
    if any(config.getoption(name, None) for name in _PARTIAL):
        return []
    folder = config.invocation_params.dir
    return [Path(os.path.abspath(folder / each)) for each in config.args if "::" not in each]
