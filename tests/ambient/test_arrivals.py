"""Proves that a hook is called when its module has been imported, whatever loads it, and that it leaves no trace."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import runpy
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reenact.seams import arrivals
from reenact.seams.arrivals import on_arrival


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is imported from it is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    arrivals._waiting.clear()


def heard(name: str) -> list[ModuleType]:
    modules: list[ModuleType] = []
    on_arrival(name, modules.append)
    return modules


def test_a_module_is_there_when_its_hook_is_called_and_shows_who_loaded_it(folder: Path) -> None:
    (folder / "arriving.py").write_text("loader = __spec__.loader\nnear = __loader__\nwhole = True\n")
    seen: list[bool] = []
    on_arrival("arriving", lambda module: seen.append(module.whole))
    arriving = importlib.import_module("arriving")

    assert seen == [True]
    assert arriving.__spec__ is not None
    for loader in (arriving.loader, arriving.near, arriving.__spec__.loader, arriving.__loader__):
        assert type(loader) is SourceFileLoader
    again = heard("arriving")
    assert again == [arriving]  # it is there


def test_a_module_of_a_package_and_one_in_an_archive(folder: Path) -> None:
    (folder / "parcel").mkdir()
    (folder / "parcel" / "__init__.py").write_text("")
    (folder / "parcel" / "inner.py").write_text("")
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr("zipped_up.py", "whole = True\n")
    sys.path.insert(0, str(folder / "zipped.zip"))
    try:
        hooks = {name: heard(name) for name in ("parcel", "parcel.inner", "zipped_up")}
        for name in ("parcel.inner", "zipped_up"):
            importlib.import_module(name)
    finally:
        sys.path.remove(str(folder / "zipped.zip"))
    assert {name: [each.__name__ for each in found] for name, found in hooks.items()} == {n: [n] for n in hooks}
    assert "archive" in repr(sys.modules["zipped_up"].__loader__) or "zipimporter" in repr(
        sys.modules["zipped_up"].__loader__
    )


def test_a_module_that_fails_calls_nobody_until_it_is_whole(folder: Path) -> None:
    (folder / "failing.py").write_text("raise OSError('not today')\n")
    found = heard("failing")
    with pytest.raises(OSError, match="not today"):
        importlib.import_module("failing")
    assert found == [] and "failing" not in sys.modules
    (folder / "failing.py").write_text("whole = 'it is'\n")
    importlib.invalidate_caches()
    assert found == [importlib.import_module("failing")] and importlib.reload(found[0]) is found[0]
    assert len(found) == 1


def test_what_is_only_looked_for_or_run_by_name_is_found_as_ever(folder: Path) -> None:
    (folder / "looked_for.py").write_text("whole = __name__\n")
    found = heard("looked_for")
    spec = importlib.util.find_spec("looked_for")
    assert spec is not None and isinstance(spec.loader, SourceFileLoader)
    assert spec.loader.get_filename("looked_for") == spec.origin == str(folder / "looked_for.py")
    assert runpy.run_module("looked_for", run_name="__main__")["whole"] == "__main__"
    assert found == []
    assert heard("there_is_no_such_module") == [] and importlib.util.find_spec("there_is_no_such_module") is None
    with pytest.raises(ModuleNotFoundError, match="No module named 'there_is_no_such_module'"):
        importlib.import_module("there_is_no_such_module")


def test_hooks_are_called_in_order_and_their_errors_reach_the_import(folder: Path) -> None:
    (folder / "several.py").write_text("")
    order: list[int] = []

    def fail(_module: ModuleType) -> None:
        order.append(2)
        raise LookupError("a hook")

    on_arrival("several", lambda _module: order.append(1))
    on_arrival("several", fail)
    with pytest.raises(LookupError, match="a hook"):
        importlib.import_module("several")
    assert order == [1, 2]


def test_a_finder_of_the_program_may_ask_all_of_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "arriving.py").write_text("")
    modules = heard("arriving")
    asked: list[str] = []

    class Delegating:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            if name != "arriving" or asked.count(name) > 5:
                return None
            asked.append(name)
            finders = [each for each in sys.meta_path if not isinstance(each, Delegating)]
            return next((spec for each in finders if (spec := each.find_spec(name, path, target))), None)

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Delegating()])
    sys.meta_path.insert(1, sys.meta_path.pop())
    module = importlib.import_module("arriving")
    assert modules == [module] and asked == ["arriving"]


def test_a_loader_that_is_found_may_be_copied(folder: Path) -> None:
    (folder / "arriving.py").write_text("")
    heard("arriving")
    found = importlib.util.find_spec("arriving")
    assert found is not None
    with pytest.raises(AttributeError):
        attrgetter("absent")(copy.copy(found.loader))  # it has none, and does not ask itself for ever
