"""The house rules hold: size, prose, names, direction of imports, and nothing of the machine it was written on."""

from __future__ import annotations

import ast
import functools
import re
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "reenact"
MODULES = sorted(PACKAGE.rglob("*.py"))
pytestmark = pytest.mark.once


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def statements(*nodes: ast.AST) -> Iterator[ast.AST]:
    """Every statement below these nodes, and they. Expressions, nine nodes in ten, hold none and are passed over."""
    for node in nodes:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, field, ())
            if isinstance(inside, list):
                yield from statements(*inside)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(node: ast.AST, *, public: bool = True) -> Iterator[Definition]:
    """Classes and functions that are reachable by public names (or all of them); never what is inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            if any("overload" in ast.unparse(decorator) for decorator in child.decorator_list):
                continue
            if not public or not child.name.startswith("_"):
                yield child
                if isinstance(child, ast.ClassDef):
                    yield from definitions(child, public=public)
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from definitions(child, public=public)


def test_no_module_outgrows_its_one_responsibility() -> None:
    sizes = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > 700} == {}
    assert statistics.median(size for size in sizes.values() if size > 1) <= 180


def test_no_function_is_longer_than_a_screen() -> None:
    long = {}
    for path in MODULES:
        for node in statements(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > 80:
                    long[f"{name_of(path)}:{node.name}"] = lines
    assert long == {}


def test_every_module_says_its_responsibility_and_every_public_name_what_it_does() -> None:
    silent = []
    for path in MODULES:
        tree = tree_of(path)
        prose = ast.get_docstring(tree)
        if not prose or not re.match(r"[^\n].*?[.:](\s|$)", prose, re.DOTALL):
            silent.append(name_of(path))
        known = documented_elsewhere(tree)
        silent += [
            f"{name_of(path)}:{node.name}"
            for node in definitions(tree)
            if not ast.get_docstring(node) and node not in known
        ]
    assert silent == []


def bases_of(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases]


@functools.cache
def classes() -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for path in MODULES:
        for node in statements(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def methods_of(node: ast.ClassDef) -> set[str]:
    """The methods of a class, with those of its bases in this package."""
    own = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return own.union(
        *(methods_of(each) for base in bases_of(node) if base != node.name for each in classes().get(base, ()))
    )


@functools.cache
def protocols() -> list[set[str]]:
    """The public methods of each protocol that has more than one. The protocol has their docstrings."""
    every = [node for named in classes().values() for node in named if "Protocol" in bases_of(node)]
    public = [{name for name in methods_of(node) if not name.startswith("_")} for node in every]
    return [names for names in public if len(names) > 1]


def documented_elsewhere(tree: ast.Module) -> set[ast.AST]:
    """Methods of a class that has all methods of a protocol: one that adds nothing to it needs no docstring."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and "Protocol" not in bases_of(node):
            there = methods_of(node)
            inherited = set[str]().union(*(names for names in protocols() if names <= there))
            found |= {each for each in node.body if isinstance(each, Definition) and each.name in inherited}
    return found


def test_nothing_is_called_after_what_it_is_not() -> None:
    empty = {"util", "utils", "helper", "helpers", "manager", "managers", "base", "common", "misc"}
    assert [name_of(path) for path in PACKAGE.rglob("*") if path.stem.strip("_") in empty] == []


SHARED_NAMES = frozenset(
    {
        # wire formats: ``facts.dialects`` reads one, ``facts.answers`` writes it
        "anthropic_messages",
        "bedrock_converse",
        "cohere_chat",
        "google_gemini",
        "openai_chat",
        "openai_completions",
        "openai_responses",
        # commands are named as they are typed; beside each is the thing that it shows
        "kit",
        "record",
        "timeline",
    }
)
"""Names that more than one module has. A name leaves the list with its second module; none is added."""

SMALL_MODULES = frozenset(
    {
        "facts/answers/openai_completions.py",  # a wire format of its own, like each beside it
        "interfaces/cli/live_replay.py",  # loaded by one command, and only where something goes live
        "store/indices.py",  # loaded by the store when it is asked by which index it finds runs
        "store/output_rows.py",  # loaded by a recording when its output is read
    }
)
"""Modules below 40 lines that one other imports; commands are imported by their table."""


def test_modules_are_told_apart_by_their_names() -> None:
    names = Counter(path.stem for path in MODULES if not path.stem.startswith("__"))
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


SHARED_CLASSES = frozenset(
    {
        "Rule",  # of suspicion; of a scripted model, under the name that ``reenact.testing.provider`` exports
        "Turn",  # a place in the order; a message of a conversation, under the name that the provider exports
    }
)
"""Names of classes that more than one module defines. A name leaves the list with its second class; none is added."""


def test_classes_are_told_apart_by_their_names() -> None:
    classes = (node for path in MODULES for node in tree_of(path).body if isinstance(node, ast.ClassDef))
    names = Counter(node.name for node in classes if not node.name.startswith("_"))
    assert {name for name, count in names.items() if count > 1} == SHARED_CLASSES


NOUNS_LIKE_PARTICIPLES = frozenset(
    {
        "Finding",  # what a judgement has found
        "Housekeeping",
        "Reading",  # the neutral view of a model call
        "Rebinding",  # see the glossary
        "Recording",  # the read side of one run
        "Replayed",  # a public name of reenact.testing
        "Said",  # a public name of reenact.testing
        "Setting",  # one thing that a project may set
    }
)
"""Classes with such a name. A name leaves the list when its class is renamed; none is added."""


def test_no_class_is_named_by_a_bare_participle() -> None:
    past = "Begun|Bound|Built|Done|Drawn|Found|Given|Gone|Held|Kept|Known|Lost|Made|Read|Said|Seen|Sent|Sought|Spoken"
    participle = re.compile(rf"_*(?:[A-Z][a-z0-9]*(?:ed|ing)|{past}|Taken|Told|Written)")
    classes = (node for path in MODULES for node in statements(tree_of(path)) if isinstance(node, ast.ClassDef))
    assert {node.name for node in classes if participle.fullmatch(node.name)} == NOUNS_LIKE_PARTICIPLES


def test_no_type_is_named_by_a_bare_past_participle() -> None:
    """A name in capitals and small letters that a module gives to a type, such as the type of a function."""
    past = re.compile(r"(?:[A-Z][a-z]+ed|Given|Held|Kept|Known|Made|Seen|Sent|Taken|Told|Written)")
    given = (node for path in MODULES for node in tree_of(path).body if isinstance(node, ast.Assign))
    names = {target.id for node in given for target in node.targets if isinstance(target, ast.Name)}
    assert {name for name in names if past.fullmatch(name)} == set()


def test_a_small_module_has_more_than_one_importer() -> None:
    dotted = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in MODULES}
    importers: dict[str, set[str]] = {name: set() for name in dotted}
    for name, path in dotted.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                for target in (node.module, *named):
                    importers.get(target, set()).add(name)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                importers.get(node.value, set()).add(name)
    small = {
        name_of(path)
        for name, path in dotted.items()
        if path.stem[:2] != "__"
        and not name.startswith(("reenact.interfaces.cli.commands.", "reenact.interfaces.cli.goldens."))
        and len(path.read_text(encoding="utf-8").splitlines()) < 40
        and len(importers[name]) < 2
    }
    assert small == SMALL_MODULES


def imports_inside_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for function in statements(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in statements(function):
                if isinstance(node, ast.Import):
                    yield from ((node.lineno, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield node.lineno, "." * node.level + (node.module or "")


def test_no_module_of_ours_is_imported_late_but_by_the_facade_and_the_command_dispatch() -> None:
    late = []
    for path in MODULES:
        name = name_of(path)
        if name == "__init__.py" or name.startswith("interfaces/cli/") or path.name == "sitecustomize.py":
            continue  # the interpreter itself loads a sitecustomize, in programs that are not recorded too
        for line, target in imports_inside_functions(tree_of(path)):
            if target.startswith((".", "reenact")):
                late.append(f"{name}:{line} {target}")
    assert late == []


OF_PROCESSES = frozenset(
    {
        "seams/boot",  # the fork server, and the modes that a process is begun in
        "seams/contacts.py",  # the audit event of a process that is copied
        "seams/processes/child_runs.py",  # a way in which multiprocessing starts a child
        "seams/processes/system.py",  # ``os.fork``
    }
)
"""Where a seam may speak of a fork: of a process, as the system makes it."""


def test_no_seam_knows_of_forks_or_asks_whether_time_is_virtual() -> None:
    """What goes live, and what a clock shows, is its session's to know."""
    told = re.compile(r"\b(forks?|Fork\w*|virtual\w*)\b")
    found = [
        f"{name_of(path)}:{number} {match[0]}"
        for path in MODULES
        if path.is_relative_to(PACKAGE / "seams")
        and not any((PACKAGE / name) in (path, *path.parents) for name in OF_PROCESSES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in told.finditer(line)
    ]
    assert found == []


ROOMS_BESIDE = frozenset(
    {
        ("mcp", "http"),  # one of its transports is HTTP
        ("mcp", "processes"),  # another is a process
        ("processes", "boot"),  # a child that is recorded is begun by the boot
        ("rpc", "http"),  # an RPC is an exchange over HTTP
        ("servers", "strands"),  # a server's loop is counted for each of its requests
        ("websockets", "http"),  # a connection begins as a request
    }
)
"""Rooms of the seams that import one beside them. A pair leaves the list with its last import; none is added."""


def test_rooms_of_the_seams_do_not_import_each_other() -> None:
    found = set()
    for path in (PACKAGE / "seams").glob("*/**/*.py"):
        room = path.relative_to(PACKAGE / "seams").parts[0]
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reenact.seams"):
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                others = {name.split(".")[2] for name in named if (PACKAGE / "seams" / name.split(".")[2]).is_dir()}
                found |= {(room, other) for other in others - {room}}
    assert found == ROOMS_BESIDE


def test_facts_know_no_io_no_clock_and_no_chance() -> None:
    forbidden = {"os", "io", "time", "random", "secrets", "socket", "threading", "asyncio", "subprocess"}
    found = []
    for path in [*PACKAGE.glob("facts/*.py"), PACKAGE / "errors.py"]:
        for node in statements(tree_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{name_of(path)} imports {name}" for name in names if name.split(".")[0] in forbidden]
    assert found == []


def test_no_fault_that_is_set_right_in_the_facts_hides_what_a_signal_handler_raised() -> None:
    """Facts are made in the agent's thread: its time-out by ``signal.alarm`` may be raised in any line of them."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted((PACKAGE / "facts").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and not any(isinstance(part, ast.Raise) or _is_let_through(part) for part in ast.walk(node))
    ]
    assert found == [], "begin with let_through(error), of facts/interruptions.py"


def _is_let_through(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and ast.unparse(part.func) == "let_through"


def test_what_an_unreplayable_run_lacks_is_a_tuple_of_names() -> None:
    """The facts of an error are keywords of any type, so that no type checker reads this."""
    given = [
        (path.relative_to(PACKAGE), fact.value)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("UnreplayableRun")
        for fact in node.keywords
        if fact.arg == "missing"
    ]
    assert [(str(place), ast.unparse(value)) for place, value in given if not isinstance(value, ast.Tuple)] == [
        ("replaying/caller.py", "tuple(opaque)"),
        ("testing/expectations/courts.py", "MISSING"),
    ]
    assert len(given) > 20


def test_no_package_bears_the_name_of_a_public_function() -> None:
    import reenact

    top = {path.name for path in PACKAGE.iterdir() if path.is_dir()} | {path.stem for path in PACKAGE.glob("*.py")}
    assert top & set(reenact.__all__) == set()


def test_only_declared_dependencies_are_needed_and_no_sdk_is_ever_imported_by_loading_a_module() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    allowed = {re.split(r"[<>=~! ;\[]", line)[0].replace("-", "_").lower() for line in declared} | {"reenact"}
    foreign = []
    for path in MODULES:
        for node in at_import_time(tree_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            tops = {name.split(".")[0] for name in names if name}
            foreign += [f"{name_of(path)}: {top}" for top in tops - allowed - sys.stdlib_module_names]
    assert foreign == []


def test_no_module_defines_its_classes_by_dataclasses() -> None:
    found = []
    for path in MODULES:
        for node in at_import_time(tree_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [f"{name_of(path)}: take reenact.facts.lazy_dataclass" for name in names if name == "dataclasses"]
    assert found == []


def test_no_module_compiles_an_expression_when_it_is_loaded() -> None:
    found = []
    for path in MODULES:
        if path.name not in ("errors.py", "lazy_regex.py"):
            lines = [
                node.lineno for node in called_at_import_time(tree_of(path)) if ast.unparse(node.func) == "re.compile"
            ]
            found += [f"{name_of(path)}:{line} take reenact.facts.lazy_regex" for line in lines]
    assert found == []


def test_no_match_is_told_by_which_expression_object_made_it() -> None:
    """A lazy expression is another object than the compiled one that its matches name."""
    found = [
        f"{name_of(path)}:{node.lineno} compare the match, or the text of the expression"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "re"
    ]
    assert found == []


def called_at_import_time(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from called_at_import_time(node)


def at_import_time(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run when the module is loaded: not those in functions, nor those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from at_import_time(other)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            yield from at_import_time(node)


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: what is part of the project cannot be told from what lies beside it")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_nothing_of_a_machine_or_of_a_package_index_is_in_the_project() -> None:
    registry = "|".join(("pypi" + r"\.org", "python" + r"hosted\.org", "anaconda" + r"\.org", "npm" + r"js\.org"))
    homes = "/ro" + r"ot/|/ho" + r"me/\w+/|/Use" + r"rs/\w+/|\b[A-Z]:\\Use" + "rs"
    places = [re.escape(str(ROOT) + "/"), re.escape(str(Path.home()) + "/")] if len(ROOT.parts) > 2 else []
    pattern = re.compile("|".join([registry, homes, *places]))
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []


LOCKS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed_and_names_no_place(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    statements = [
        line.split(" #")[0].strip() for line in text.replace("\\\n", " ").splitlines() if line[:1] not in {"#", ""}
    ]
    statements = [line for line in statements if line and not line.startswith("#")]
    assert statements
    for line in statements:
        assert re.match(r"[A-Za-z0-9._-]+==[^\s;]+( ; [^\n]+?)?\s+(--hash=sha256:[0-9a-f]{64}\s*)+$", line), line[:120]


def test_the_locks_agree_with_each_other_and_with_what_the_package_declares() -> None:
    pins: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in re.findall(
            r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / lock).read_text(encoding="utf-8"), re.M
        ):
            pins.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    asked = (ROOT / "requirements" / "runtime.in").read_text(encoding="utf-8").splitlines()
    assert sorted(declared) == sorted(line for line in asked if line[:1].isalpha())


def test_a_lock_is_made_for_each_input() -> None:
    assert [path.with_suffix(".txt").name for path in sorted((ROOT / "requirements").glob("*.in"))] == LOCKS
