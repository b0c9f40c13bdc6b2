"""The code keeps its shape: short modules and classes, flat inheritance, no cycle of imports.

Whatever lies beyond a limit is named here. A name leaves its list as soon as it keeps to the limit; none is added.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

import pytest

from tests.project.test_house import MODULES, PACKAGE, statements, tree_of

pytestmark = pytest.mark.once

LONG_MODULES: frozenset[str] = frozenset(
    {
        "facts/encoding.py",
        "facts/spotted_names.py",
        "facts/views.py",
        "facts/weaving.py",
        "recording/recording_session.py",
        "replaying/replay_gate.py",
        "replaying/redirecting.py",
        "replaying/replay_session.py",
        "seams/databases/sqlite.py",
        "seams/functions.py",
        "seams/gate.py",
        "seams/http/httpx_clients.py",
        "seams/strands/signals.py",
        "store/inheriting.py",
        "store/sqlite.py",
        "store/sqlite_log.py",
        "timetravel/aligning.py",
        "timetravel/forks/fork_session.py",
    }
)
LONG_CLASSES: frozenset[str] = frozenset(
    {
        "reenact.replaying.replay_session.ReplaySession",
        "reenact.seams.gate.Gate",
        "reenact.store.sqlite.SqliteStore",
        "reenact.timetravel.forks.fork_session.ForkSession",
    }
)
DEEP_CLASSES: frozenset[str] = frozenset(
    {
        "reenact.interfaces.cli.commands.golden.Goldens",
        "reenact.recording.active.ActiveRun",
        "reenact.replaying.replay_gate.ShuffledGate",
        "reenact.replaying.request_replay.PreambleGate",
        "reenact.store.bundles.bundle_store.BundleStore",
        "reenact.testing.experiments.cell_process.CellProcess",
        "reenact.testing.experiments.cell_session.CellSession",
        "reenact.testing.goldens.result_file.ResultStore",
        "reenact.testing.goldens.golden_session.GoldenSession",
        "reenact.timetravel.forks.alarms.AlarmGate",
        "reenact.timetravel.forks.fork_gate.ForkGate",
        "reenact.timetravel.forks.fork_session.ForkSession",
        "reenact.timetravel.forks.stops.StoppingSession",
        "reenact.timetravel.forks.taping.TapedServing",
        "reenact.timetravel.forks.timed.TimedGate",
    }
)
CYCLES: frozenset[tuple[str, ...]] = frozenset(
    {
        (
            "reenact.seams.async_backends",
            "reenact.seams.counted_loops",
            "reenact.seams.gate",
            "reenact.seams.lanes",
            "reenact.seams.posting",
        ),
        (
            "reenact.timetravel.forks.cancelled_calls",
            "reenact.timetravel.forks.fork_session",
            "reenact.timetravel.forks.giving",
            "reenact.timetravel.forks.resources",
            "reenact.timetravel.forks.stops",
            "reenact.timetravel.forks.taping",
        ),
    }
)

_MOST_LINES = 450
_MOST_LINES_OF_A_CLASS = 400
_DEEPEST = 2
_OUTSIDE = frozenset({"BaseException", "Exception", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Each module of the package by its dotted name."""
    found = {}
    for path in MODULES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = tree_of(path)
    return found


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in trees().items():
        yield from ((module, node) for node in statements(tree) if isinstance(node, ast.ClassDef))


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of each import from the package outside of functions, those for type checkers included."""
    open_nodes: list[ast.AST] = [tree]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "reenact":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "reenact")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            open_nodes.extend(ast.iter_child_nodes(node))


def lineage() -> dict[str, tuple[str, ...]]:
    """Each class of the package with those it is directly derived from; foreign ones by their bare name."""
    by_name = {(module, node.name): f"{module}.{node.name}" for module, node in classes()}
    found = {}
    for module, node in classes():
        names = {name: source for source, name in imported(trees()[module])}
        bases = []
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(plain, ast.Attribute):
                holder = ast.unparse(plain.value)
                origin, word = f"{names.get(holder, '')}.{holder}", plain.attr
            else:
                word = ast.unparse(plain)
                origin = names.get(word, module)
            bases.append(by_name.get((origin, word), word))
        found[f"{module}.{node.name}"] = tuple(bases)
    return found


def test_modules_are_short() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {
        path.relative_to(PACKAGE).as_posix() for path, lines in lengths.items() if lines > _MOST_LINES
    } == LONG_MODULES


def test_classes_are_short() -> None:
    lengths = {f"{module}.{node.name}": (node.end_lineno or 0) - node.lineno + 1 for module, node in classes()}
    assert {name for name, lines in lengths.items() if lines > _MOST_LINES_OF_A_CLASS} == LONG_CLASSES


def test_inheritance_is_flat() -> None:
    bases = lineage()

    def above(name: str) -> set[str]:
        return {name}.union(*(above(base) for base in bases.get(name, ())))

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

    assert {name for name in bases if depth(name) > _DEEPEST and not above(name) & _OUTSIDE} == DEEP_CLASSES


def test_no_modules_import_each_other_even_for_types() -> None:
    known = trees()
    edges = {
        module: {f"{source}.{name}" if f"{source}.{name}" in known else source for source, name in imported(tree)}
        - {module}
        for module, tree in known.items()
    }

    @functools.cache
    def reached(module: str) -> frozenset[str]:
        seen: set[str] = set()
        ahead = list(edges[module])
        while ahead:
            each = ahead.pop()
            if each in edges and each not in seen:
                seen.add(each)
                ahead.extend(edges[each])
        return frozenset(seen)

    circles = {tuple(sorted(other for other in reached(each) if each in reached(other))) for each in edges}
    assert {each for each in circles if each} == CYCLES
