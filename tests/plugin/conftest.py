"""Projects with goldens: made once through the public commands, copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.testing import ProviderProcess
from tests.plugin.desk import HERE, Project

KEY = {"OPENAI_API_KEY": "sk-of-the-shop-1234567890"}


@pytest.fixture(scope="session")
def world() -> Iterator[ProviderProcess]:
    """The world that the agents were recorded in; still there, so that only the plugin keeps a test from it."""
    with ProviderProcess(HERE / "world.py") as running:
        yield running


@pytest.fixture(scope="session")
def made(world: ProviderProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose goldens were added through the command line."""
    desk = Project.new(tmp_path_factory.mktemp("made") / "shop", {**KEY, "SHOP_URL": world.url})
    for entry, arguments in (("reply", "'What is your refund policy?'"), ("greet", "'Ada'")):
        called = f"shop.{entry}({arguments})"
        text = f"import asyncio, shop; asyncio.run({called})" if entry == "greet" else f"import shop; {called}"
        done = desk.run("python", "-c", text)
        assert done.code == 0, done.out
    adding = ("reenact", "golden", "add")
    for run, name, *more in (
        ("@~1", "refund-loop", "--expect", "calls(search_docs) <= 2"),
        ("@", "same/greeting"),
    ):
        done = desk.run(*adding, run, "--as", name, *more)
        assert done.code == 0, done.out
    (desk.folder / "tests" / "test_goldens.py").unlink()
    return desk.folder


@pytest.fixture
def desk(made: Path, tmp_path: Path) -> Project:
    """A clone of the project, elsewhere, without a store, without the key, and without the address of the world."""
    folder = tmp_path / "clone"
    shutil.copytree(made, folder, ignore=shutil.ignore_patterns(".reenact", "__pycache__", ".pytest_cache"))
    return Project(folder)
