"""Settings: layers in their order, each value with its origin, every mistake named; init never overwrites."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.abc.project_settings import load_settings
from reenact.errors import UsageError
from reenact.facts.policy import Policy
from reenact.facts.settings import SETTINGS, Layer, environment_layer, policy_of, resolve, strangers
from reenact.interfaces.cli.commands.demo import find_script
from reenact.interfaces.cli.commands.init import template

Cli = Callable[..., Any]


def test_layers_win_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.reenact]\nagent = "a"\nuser = "b"\ntenant = "c"\n')
    (tmp_path / "reenact.toml").write_text('user = "own"\ntenant = "own"\nfiles = ["out/*.md"]\n')
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    chosen = load_settings(inner, {"REENACT_TENANT": "env", "REENACT_CHECK_CHANGES": "off", "OTHER": "x"})
    assert {
        name: (chosen[name].value, chosen[name].origin) for name in ("agent", "user", "tenant", "files", "order")
    } == {
        "agent": ("a", "pyproject.toml [tool.reenact]"),
        "user": ("own", "reenact.toml"),
        "tenant": ("env", "environment"),
        "files": (("out/*.md",), "reenact.toml"),
        "order": ("exact", "default"),
    }
    assert policy_of(chosen) == Policy(files=("out/*.md",), check_changes=False)
    assert policy_of(chosen, order="off", hold_ms=None).order == "off"


def test_defaults_are_the_policy_s() -> None:
    assert policy_of(resolve([])) == Policy()
    assert {each.name for each in fields(Policy)} <= {setting.plain for setting in SETTINGS}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ordr = 'exact'", "did you mean order?"),
        ("order = 'fast'", "is none of exact, arrival, off"),
        ("sample = 2", "is not a number from 0 to 1"),
        ("sample = true", "is not a number"),
        ("files = 3", "is not a list of texts"),
        ("redact = {a = 1}", "is not a table of texts"),
        ("check_changes = 'maybe'", "neither true nor false"),
        ("agent = 1", "is not text"),
        ("agent = ", "is not valid TOML"),
        ("server = 3", "is not a table"),
        ("server = {ignroe = []}", "did you mean server.ignore?"),
        ("[server]\nignore = 3", "is not a list of texts"),
        ("[server]\nignore = ['health']", "is no path of a request"),
    ],
)
def test_a_mistake_names_the_file_and_the_cure(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "reenact.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path, {})
    assert words in str(caught.value) and "reenact.toml" in str(caught.value)
    assert caught.value.next_command == "reenact config --help", "config itself would stop at the same mistake"


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(UsageError) as caught:
        resolve([environment_layer({"REENACT_HOLD_MS": "soon"})])
    assert caught.value.next_command == "export REENACT_HOLD_MS=", "an empty one sets nothing"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[tool.reenact.server]\nignore = ["/health", "GET /ping"]'),
        ("reenact.toml", '[server]\nignore = ["/health", "GET /ping"]'),
        ("reenact.toml", 'server.ignore = ["/health", "GET /ping"]'),
    ],
)
def test_a_setting_may_stand_in_a_table(file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    assert policy_of(load_settings(tmp_path, {})).server_ignore == ("/health", "GET /ping")
    over = load_settings(tmp_path, {"REENACT_SERVER_IGNORE": "/health, /ready"})
    assert over["server.ignore"].value == ("/health", "/ready") and over["server.ignore"].origin == "environment"


def test_variables_that_set_nothing_are_shown_not_refused(reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REENACT_STROE", "x")
    assert ("REENACT_STROE", "REENACT_STORE") in strangers({"REENACT_STROE": "x", "REENACT_DEBUG": "1"})
    answer = reenact("config")
    assert answer.code == 0 and "did you mean REENACT_STORE?" in answer.err


@given(st.dictionaries(st.sampled_from([setting.name for setting in SETTINGS]), st.text(max_size=8)))
def test_any_environment_resolves_or_is_a_usage_error(values: dict[str, str]) -> None:
    try:
        resolve([environment_layer({f"REENACT_{name.upper()}": text for name, text in values.items()})])
    except UsageError as error:
        assert "environment" in error.message


def test_any_layer_may_be_empty() -> None:
    assert resolve([Layer("x", {})]) == resolve([])


def test_config_shows_each_setting_once(reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REENACT_ORDER", "arrival")
    answer = reenact("config", "--json", "--store", "sqlite:///x")
    shown = {each["setting"]: (each["value"], each["origin"]) for each in answer.data}
    assert list(shown) == [setting.name for setting in SETTINGS]
    assert shown["order"] == ("arrival", "environment")
    assert shown["store"] == ("sqlite:///x", "command line")
    assert len(reenact("config").lines) == len(SETTINGS)


def test_config_refuses_a_broken_file(reenact: Cli) -> None:
    Path("reenact.toml").write_text("nope = 1")
    assert reenact("config").code == reenact("ls").code == 2


def test_init_writes_once_and_never_overwrites(reenact: Cli) -> None:
    Path(".gitignore").write_bytes(b"*.pyc")
    assert reenact("init").lines == ["reenact.toml: written", ".gitignore: .reenact/ added", ".gitattributes: written"]
    assert Path(".gitignore").read_bytes() == b"*.pyc\n.reenact/\n"
    Path("reenact.toml").write_text('agent = "mine"\n')
    names = ("reenact.toml", ".gitignore", ".gitattributes")
    assert reenact("init").lines == [f"{name}: left as it is" for name in names]
    assert Path("reenact.toml").read_text() == 'agent = "mine"\n'
    assert Path(".gitignore").read_bytes() == b"*.pyc\n.reenact/\n"


def test_the_template_is_valid_and_sets_nothing_until_uncommented() -> None:
    assert tomllib.loads(template()) == {}
    lines = [line.removeprefix("# ") for line in template().splitlines() if " = " in line]
    values = tomllib.loads("\n".join(lines))
    assert list(values) == list(dict.fromkeys(setting.name.partition(".")[0] for setting in SETTINGS))
    resolved = resolve([Layer("template", values)])
    assert json.loads(json.dumps(policy_of(resolved).order)) == "exact"
    assert policy_of(resolved) == Policy()


def test_the_demo_is_found_in_our_checkout_only(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "demo.py").write_text("")
    far = tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "module.py"
    assert find_script(tmp_path, far) is None
    (tmp_path / "src" / "reenact").mkdir(parents=True)
    (tmp_path / "src" / "reenact" / "errors.py").write_text("")
    assert find_script(tmp_path, far) == tmp_path / "examples" / "demo.py"
