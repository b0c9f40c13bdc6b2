"""Formats are found by name, recognised by content, added by other packages; a wrong one is refused with a guess."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner

from reenact.errors import InteropError, UsageError
from reenact.interfaces.cli.commands.import_ import command
from reenact.interop import readers
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_formats import read
from reenact.interop.readers import BUILT_IN, ReaderOptions
from tests.interop import spans
from tests.interop.conftest import Bring

SAMPLES = {
    "vcr": "interactions:\n- request: {method: GET, uri: 'http://h/', headers: {}, body: null}\n"
    "  response: {status: {code: 200, message: OK}, headers: {}, body: {string: ''}}\nversion: 1\n",
    "har": '{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": []}}',
    "json": '{"format": "reenact-exchanges/1", "exchanges": []}',
    "messages": '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n',
    "otlp": spans.text(spans.chat(1)),
}


class Lines:
    """A reader of another package: each line of a file is an address."""

    name = "lines"
    about = "addresses, one a line"

    @staticmethod
    def fits(head: bytes) -> bool:
        """Whether it begins with an address."""
        return head.startswith(b"http")

    @staticmethod
    def read(data: bytes, asked: ReaderOptions) -> list[ExchangesOfRun]:
        """One run of all of them."""
        if data.startswith(b"http://broken"):
            raise KeyError("broken")
        return [ExchangesOfRun("lines 1", tuple(ImportedExchange("GET", line) for line in data.decode().split()))]


class Wrong(Lines):
    """A reader that gives what is no run."""

    @staticmethod
    def read(data: bytes, asked: ReaderOptions) -> list[ExchangesOfRun]:
        """Nothing of the kind."""
        return ["nothing"]  # type: ignore[list-item]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other packages are installed that bring readers, one of them under a name of ours, one that is not there."""
    entries = [
        EntryPoint("lines", f"{__name__}:Lines", readers.GROUP),
        EntryPoint("wrong", f"{__name__}:Wrong", readers.GROUP),
        EntryPoint("gone", "no_such_module_at_all:Reader", readers.GROUP),
        EntryPoint("vcr", f"{__name__}:Lines", readers.GROUP),
    ]
    monkeypatch.setattr(readers, "entry_points", lambda group: entries)


@pytest.mark.parametrize("form", SAMPLES)
def test_each_reader_recognises_its_own_files_alone(form: str) -> None:
    assert [each.name for each in BUILT_IN if each.fits(SAMPLES[form].encode())] == [form]


@pytest.mark.parametrize("form", SAMPLES)
def test_a_file_of_another_format_is_refused_with_a_guess(form: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(SAMPLES[form])
    asked = next(each.name for each in BUILT_IN if each.name != form)
    with pytest.raises(InteropError) as raised:
        read(asked, path, ReaderOptions())
    assert f"it looks like {form}: " in str(raised.value.cause)


def test_a_damaged_file_of_the_right_format_gets_no_guess(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(SAMPLES["har"][:-20])
    with pytest.raises(InteropError) as raised:
        read("har", path, ReaderOptions())
    assert "looks like" not in str(raised.value.cause)


def test_a_misspelled_format_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read("mesages", tmp_path / "file", ReaderOptions())
    assert "did you mean messages? these are read: vcr, har, json, inspect" in str(raised.value.cause)


def test_a_format_of_another_package_becomes_a_run(added: None, bring: Bring) -> None:
    (run,) = bring("lines", "http://h/1\nhttp://h/2\n")
    assert (run.entry.target, run.totals.events) == ("lines 1", 2)


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        ("lines", "http://broken", "Lines failed: KeyError"),
        ("wrong", "http://h/", "something else than Found"),
        ("gone", "http://h/", "failed: ModuleNotFoundError"),
    ],
)
def test_a_faulty_reader_is_a_refusal_that_names_it(
    added: None, tmp_path: Path, form: str, text: str, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InteropError, match=reason):
        read(form, path, ReaderOptions())


def test_no_package_replaces_a_built_in_format(added: None, bring: Bring) -> None:
    (run,) = bring("vcr", SAMPLES["vcr"])
    assert run.entry.target == "vcr 1"


def test_each_format_has_its_row_that_says_on_what_it_was_tested_and_what_is_lost() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "import-logs.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:3] == "| `"]
    assert {row[0].strip("`") for row in rows} == {each.name for each in BUILT_IN}
    assert all(len(row) == 5 and all(row) for row in rows)


def test_help_lists_every_format_with_a_line(added: None) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    for each in (*BUILT_IN, Lines()):
        assert each.name in shown
        assert each.about.split()[0] in shown
    assert "cannot be loaded: ModuleNotFoundError" in shown
