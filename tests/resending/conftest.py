"""A desk for sending again: runs recorded here with real SDKs, a scripted provider that remembers what came, and the
command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import reenact
from reenact.abc.store import Store
from reenact.interfaces.cli.main import cli
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Fault, Reply, Rule, Script, ToolUse, When
from reenact.testing.provider.provider_decisions import HttpRequest

WORLD = Script(
    rules=(
        Rule(say="I know nothing.", when=When(system="refuse")),
        Rule(uses=(ToolUse("look", {"city": "Oslo"}),), when=When(tool="look", results=False)),
        Rule(say=("fog in Oslo", "rain in Oslo", "snow and fog in Oslo")),
    )
)
KEYS = {
    "OPENAI_API_KEY": "sk-today-openai-3kf9sl2mfa",
    "ANTHROPIC_API_KEY": "sk-ant-today-9dk2ls0f8s",
    "GEMINI_API_KEY": "AIza-today-8dk3ks9fls02",
    "MISTRAL_API_KEY": "today-mistral-k3l9fks02ls",
}


class Watched(ScriptedProvider):
    """A scripted provider that remembers each request: path, headers by lower-case name, body."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    def _answer(self, request: HttpRequest, planned: Fault | None) -> tuple[Reply, Fault | None]:
        self.seen.append((request.target, dict(request.headers), request.body))
        return super()._answer(request, planned)


@dataclass
class Answer:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Sender:
    """A store, a provider, and the command line on both."""

    def __init__(self, folder: Path, provider: Watched) -> None:
        self.folder = folder
        self.provider = provider
        self.url = f"sqlite:///{folder / 'runs.db'}"

    @property
    def seen(self) -> list[tuple[str, dict[str, str], bytes]]:
        return self.provider.seen

    def record(self, ask: Callable[[], object], **more: Any) -> str:
        """Record a function; gives the run's short id."""
        run: reenact.Run
        with reenact.record(agent="desk@7", store=self.url, **more) as run:
            ask()
        return run.id[-8:]

    def run(self, *words: str) -> Answer:
        result = CliRunner().invoke(cli, ["--store", self.url, *words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    def resend(self, ref: str, *words: str, code: int = 0) -> Answer:
        answer = self.run("resend", ref, *words)
        assert answer.code == code, f"{answer.code}: {answer.out}{answer.err}"
        return answer

    def store(self) -> Store:
        return reenact.open_store(self.url)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    """A desk whose environment points the SDKs at its provider."""
    for name in ("REENACT_STORE", "HTTP_PROXY", "http_proxy", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with Watched(WORLD) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("WORLD", provider.url)
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        yield Sender(tmp_path, provider)
