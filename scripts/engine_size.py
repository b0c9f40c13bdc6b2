"""Count the engine: its lines, and how far the package is from the shape that its house tests hold.

    python scripts/engine_size.py                 this tree
    python scripts/engine_size.py FOLDER          the package of another tree, for example of an older commit

The engine is the one mechanism that records, replays and forks: gate, sessions, calls, order and time. ``ENGINE`` names
its modules; add a module that is split off from one of them. Modules that a tree does not have count nothing there.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "reenact"

ENGINE = {
    "seams": (
        "async_backends counted_loops gate hold_clock lanes loop_callbacks process_signals schedules switchboard turns "
        "waits watch"
    ),
    "recording": "ambient_reads arrival_schedule holds live_calls recording_session repeated_calls",
    "replaying": (
        "ambient_replay blocked_strands frozen_calls matching recorded_order recorded_schedule "
        "replay_faults replay_session suspects tape unmade_calls"
    ),
    "timetravel/forks": (
        "alarms waiter_lines cancelled_calls counterparts due_moments fork_ambient fork_answers fork_calls "
        "fork_decisions fork_misses elapsed_time fork_schedule fork_session fork_time ladder ledger live_addresses "
        "partial_replay resources stops"
    ),
}
"""Modules of the engine, by folder."""
FORMER = {
    "seams": "carriers posting reckoning",
    "recording": "calls holding order recording_gate repeats session",
    "replaying": "ambient calls met_lanes order replay_gate session unseen",
    "timetravel/forks": (
        "ambient called_off elapsing fork_gate gate giving handing keeping opened session taping things timed timing "
        "waiting"
    ),
}
"""What some of them were called in older trees."""
JOINED = ("seams/**/*", "replaying/**/*", "timetravel/forks/**/*", "hosting/**/*")
"""What stands around it and is part of the count with it, by pattern."""
JOINED_IN_RECORDING = (
    "ambient_reads arrival_schedule calls holding holds live_calls order process recording_gate recording_process "
    "recording_session session"
)
"""The modules of ``recording`` among them."""

MOST_LINES = 450
MOST_LINES_OF_A_CLASS = 400
DEEPEST = 2
OUTSIDE = frozenset({"BaseException", "Exception", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
"""Where inheritance is not counted: errors and enumerations."""
_ANY = re.compile(r"\bAny\b")


def names_in(folders: dict[str, str]) -> list[str]:
    """Names of modules that are listed by folder."""
    return [f"{folder}/{name}.py" for folder, words in folders.items() for name in words.split()]


class Tree:
    """A package, as its sources are.

    Args:
        package: Its folder.
    """

    def __init__(self, package: Path = PACKAGE) -> None:
        self.package = package
        self.texts = {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}

    @functools.cached_property
    def modules(self) -> dict[str, ast.Module]:
        """Each module by its dotted name."""
        return {
            "reenact." + name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): ast.parse(text, name)
            for name, text in self.texts.items()
        }

    @property
    def engine(self) -> list[str]:
        """Names of the engine's modules, those that this tree has."""
        return [name for name in (*names_in(ENGINE), *names_in(FORMER)) if name in self.texts]

    @property
    def joined(self) -> list[str]:
        """Names of the modules that stand around it."""
        found = {path.relative_to(self.package).as_posix() for each in JOINED for path in self.package.glob(each)}
        found |= {f"recording/{name}.py" for name in JOINED_IN_RECORDING.split()}
        return sorted(found & self.texts.keys())

    def lines(self, names: list[str]) -> int:
        """Lines of some modules."""
        return sum(len(self.texts[name].splitlines()) for name in names)

    def any_rate(self) -> float:
        """How often ``Any`` stands in 1,000 lines of the engine and the facts."""
        names = [*self.engine, *(name for name in self.texts if name.startswith("facts/"))]
        return 1000 * sum(len(_ANY.findall(self.texts[name])) for name in names) / self.lines(names)

    def long_modules(self) -> set[str]:
        """Modules with more lines than a module may have."""
        return {name for name in self.texts if self.lines([name]) > MOST_LINES}

    @functools.cached_property
    def classes(self) -> list[tuple[str, ast.ClassDef]]:
        """Each class, with the dotted name of its module."""
        return [(module, node) for module, tree in self.modules.items() for node in _classes(tree)]

    def long_classes(self) -> set[str]:
        """Classes with more lines than a class may have."""
        lengths = {f"{module}.{node.name}": (node.end_lineno or 0) - node.lineno + 1 for module, node in self.classes}
        return {name for name, lines in lengths.items() if lines > MOST_LINES_OF_A_CLASS}

    def lineage(self) -> dict[str, tuple[str, ...]]:
        """Each class with those it is directly derived from; foreign ones by their bare name."""
        by_name = {(module, node.name): f"{module}.{node.name}" for module, node in self.classes}
        found = {}
        for module, node in self.classes:
            names = {known: (source, name) for source, name, known in imported(self.modules[module])}
            bases = []
            for base in node.bases:
                plain = base.value if isinstance(base, ast.Subscript) else base
                if isinstance(plain, ast.Attribute):
                    holder = ast.unparse(plain.value)
                    origin, word = ".".join(names.get(holder, ("", holder))), plain.attr
                else:
                    origin, word = names.get(ast.unparse(plain), (module, ast.unparse(plain)))
                bases.append(by_name.get((origin, word), word))
            found[f"{module}.{node.name}"] = tuple(bases)
        return found

    def deep_classes(self) -> set[str]:
        """Classes that are derived over more levels than a class may be."""
        bases = self.lineage()

        def above(name: str) -> set[str]:
            return {name}.union(*(above(base) for base in bases.get(name, ())))

        def depth(name: str) -> int:
            return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

        return {name for name in bases if depth(name) > DEEPEST and not above(name) & OUTSIDE}

    def cycles(self) -> set[tuple[str, ...]]:
        """Modules that import each other outside of functions, for type checkers or not."""
        known = self.modules
        edges = {
            module: {
                f"{source}.{name}" if f"{source}.{name}" in known else source for source, name, _ in imported(tree)
            }
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
        return {each for each in circles if each}


def _classes(node: ast.AST) -> Iterator[ast.ClassDef]:
    """The classes below a node: expressions, nine nodes in ten, hold none and are passed over."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(node, field, ())
        for each in inside if isinstance(inside, list) else ():
            if isinstance(each, ast.ClassDef):
                yield each
            yield from _classes(each)


def imported(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Each import from the package outside of functions, those for type checkers included: its module, its name, and
    what it is called there."""
    open_nodes: list[ast.AST] = [tree]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "reenact":
            yield from ((node.module or "", alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.name, "", alias.asname or alias.name)
                for alias in node.names
                if alias.name.split(".")[0] == "reenact"
            )
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            open_nodes.extend(ast.iter_child_nodes(node))


def main() -> None:
    """Print the figures of a tree."""
    tree = Tree(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else Tree()
    print(f"{tree.lines(tree.engine):7,}  lines of the engine, in {len(tree.engine)} modules")
    print(f"{tree.lines(tree.joined):7,}  lines with what stands around it, in {len(tree.joined)} modules")
    print(f"{tree.any_rate():7.1f}  times Any in 1,000 lines of engine and facts")
    beyond = {
        f"classes derived over more than {DEEPEST} levels": sorted(tree.deep_classes()),
        f"classes of more than {MOST_LINES_OF_A_CLASS} lines": sorted(tree.long_classes()),
        f"modules of more than {MOST_LINES} lines": sorted(tree.long_modules()),
        "cycles of imports": [", ".join(each) for each in sorted(tree.cycles())],
    }
    for what, names in beyond.items():
        print(f"{len(names):7}  {what}")
        print("".join(f"           {name}\n" for name in names), end="")


if __name__ == "__main__":
    main()
