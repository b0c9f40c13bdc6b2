"""The contract of readers of other tools' files, the built-in readers, and those of other packages.

A reader is a module or object with four members (see ``Reader``). A reader of large files has a fifth member,
``stream``, which gets the file itself and need not hold all of it. Readers give HTTP exchanges (``ExchangesOfRun``) or
traces (``Trace``). Another package adds a reader by an entry point of the group ``reenact.readers`` with the name of
the format. The reader is loaded when that format is named or listed, never before.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol, runtime_checkable

from reenact.errors import InteropError, ReenactError, UsageError
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop import archives, cassettes, conversation_files, plain_json
from reenact.interop.exchanges import ExchangesOfRun
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import LARGEST
from reenact.interop.originals import Original
from reenact.interop.otlp import otlp_documents as otlp
from reenact.interop.otlp import reader as traces
from reenact.interop.rows import anthropic, bedrock, claude_code, mlflow, openai, openai_evals, vertex
from reenact.interop.rows.row_reader import read as rows
from reenact.interop.traces import Trace
from reenact.interop.trees import inspect_logs, langfuse, langsmith, trajectories

GROUP: Final = "reenact.readers"
"""Group of the entry points by which other packages add formats."""

HEAD: Final = 64 << 10
"""Most bytes of a file that a reader recognises it by."""


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The user's options for reading a file.

    Attributes:
        only: Only exchanges whose address begins like this are imported; empty for all.
        url: The address of the requests, for a file that names none.
        params: Fields of requests that the file lacks.
    """

    only: str = ""
    url: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


class Reader(Protocol):
    """A reader of one format. It only parses: no network, no other file, no clock."""

    @property
    def name(self) -> str:
        """Name of the format, as in ``reenact import NAME FILE``."""

    @property
    def about(self) -> str:
        """One line about the format."""

    def fits(self, head: bytes) -> bool:
        """Whether a file that begins like this (at most ``HEAD`` bytes, unpacked) looks like this format."""

    def read(self, data: bytes, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        """The content of the file, of which each item becomes a run; raises ``InteropError`` where it cannot be
        read."""


@runtime_checkable
class StreamReader(Protocol):
    """A reader that gets the file itself, and reads parts of it as often as it needs them."""

    def stream(self, file: Original, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        """The content of the file, as ``Reader.read`` gives it."""


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """A reader of this package."""

    name: str
    about: str
    looks: Callable[[bytes], bool]
    reads: Callable[[bytes, ReaderOptions], Iterable[ExchangesOfRun | Trace]]

    def fits(self, head: bytes) -> bool:
        return self.looks(head)

    def read(self, data: bytes, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        return self.reads(data, asked)


@dataclass(frozen=True, slots=True)
class _Traces:
    """A reader of this package for files of traces, of any size."""

    name: str
    about: str
    looks: Callable[[bytes], bool]
    streams: Callable[[Original], Iterable[Trace]]

    def fits(self, head: bytes) -> bool:
        return self.looks(head)

    def read(self, data: bytes, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        return self.stream(Original("", None, data), asked)

    def stream(self, file: Original, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        _say_nothing(self.name, asked)
        return self.streams(file)


class _Messages:
    """The reader of conversations: in lines they are exchanges, in the files of benchmarks traces."""

    name: Final = "messages"
    about: Final = (
        "JSON Lines of conversations with a model, or of requests and responses;"
        " trajectories of tau-bench, SWE-agent and Who&When"
    )

    def fits(self, head: bytes) -> bool:
        return _messages(head) or trajectories.fits(head)

    def read(self, data: bytes, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        return self.stream(Original("", None, data), asked)

    def stream(self, file: Original, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        with file.open() as opened:
            head = opened.read(HEAD)
            if trajectories.fits(head) and not _messages(head):
                _say_nothing(self.name, asked)
                return traces.read(file, trajectories.Trajectories())
            if file.size > LARGEST:
                raise refused(f"{file.name} is larger than {LARGEST >> 20} MiB", "split it, and import the parts")
            data = head + opened.read()
        return conversation_files.read(data, asked.url, asked.params, asked.only)


def _say_nothing(name: str, asked: ReaderOptions) -> None:
    """Refuse options that do not apply to a file of traces.

    Raises:
        UsageError: Such an option was given.
    """
    if asked != ReaderOptions():
        raise UsageError(
            f"--only, --url and --param have no effect on {name}",
            cause="they are about exchanges and messages; a file of spans says all of that itself",
            next_command="reenact import --help",
        )


@dataclass(frozen=True, slots=True)
class _PackageReader:
    """A reader of another package: any error that it raises becomes a refusal that names it."""

    entry: EntryPoint

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def about(self) -> str:
        try:
            return str(self._loaded().about)
        except Exception as error:
            return f"cannot be loaded: {type(error).__name__}"

    def fits(self, head: bytes) -> bool:
        try:
            return bool(self._loaded().fits(head))
        except Exception:
            return False

    def read(self, data: bytes, asked: ReaderOptions) -> Iterable[ExchangesOfRun | Trace]:
        try:
            found = list(self._loaded().read(data, asked))
        except (ReenactError, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise refused(
                f"the reader {self.entry.value} failed: {type(error).__name__}: {error}", "a fault of that package"
            ) from error
        if not all(isinstance(each, (ExchangesOfRun, Trace)) for each in found):
            raise refused(
                f"the reader {self.entry.value} gave something else than Found or Trace", "a fault of that package"
            )
        return found

    def _loaded(self) -> Reader:
        loaded: Reader = self.entry.load()
        return loaded


def _archive(head: bytes) -> bool:
    return _object(head) and b'"log"' in head and (b'"entries"' in head or b'"creator"' in head)


def _cassette(head: bytes) -> bool:
    return b"interactions" in head and (b"request" in head or b"[]" in head)


def _plain(head: bytes) -> bool:
    return plain_json.FORMAT.encode() in head


def _messages(head: bytes) -> bool:
    first = head.lstrip().partition(b"\n")[0]
    try:
        row = json.loads(first) if _object(first) else None
    except (ValueError, RecursionError):  # the line is longer than the head, or is no JSON
        said = b'"messages"' in first or (b'"request"' in first and b'"response"' in first)
        return said and _object(first) and not trajectories.fits(head)
    return isinstance(row, dict) and ("messages" in row or ("request" in row and "response" in row))


def _object(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


BUILT_IN: Final[tuple[Reader, ...]] = (
    _BuiltIn(
        "vcr",
        "cassettes of VCR.py (YAML, JSON), VCR for Ruby and Betamax",
        _cassette,
        lambda data, asked: [cassettes.read(data, asked.only)],
    ),
    _BuiltIn(
        "har",
        "HTTP archives of browsers and proxies",
        _archive,
        lambda data, asked: [archives.read(data, asked.only)],
    ),
    _BuiltIn(
        "json",
        "what reenact export json wrote",
        _plain,
        lambda data, asked: [plain_json.read(data, asked.only)],
    ),
    _Traces(
        "inspect",
        "logs of Inspect AI (.eval archives, JSON)",
        inspect_logs.fits,
        lambda file: traces.read(file, inspect_logs.SampleLayout()),
    ),
    _Traces(
        "langfuse",
        "traces of Langfuse (exports with their observations, rows of observations, ingestion batches)",
        langfuse.fits,
        lambda file: traces.read(file, langfuse.Observations()),
    ),
    _Traces(
        "langsmith",
        "runs of LangSmith (JSON, JSON Lines)",
        langsmith.fits,
        lambda file: traces.read(file, langsmith.Runs()),
    ),
    _Messages(),
    _Traces(
        "otlp",
        "traces of OpenTelemetry (OTLP as JSON, JSON Lines or protobuf), in any dialect of model calls",
        otlp.fits,
        traces.read,
    ),
    _Traces(
        "claude-code",
        "sessions of Claude Code (JSON Lines)",
        claude_code.fits,
        lambda file: rows(file, claude_code.Sessions),
    ),
    _Traces(
        "openai",
        "batches of OpenAI (requests, results), stored completions and responses",
        openai.fits,
        lambda file: rows(file, openai.OpenAIRows),
    ),
    _Traces(
        "anthropic",
        "message batches of Anthropic (requests, results), and messages",
        anthropic.fits,
        lambda file: rows(file, anthropic.Batches),
    ),
    _Traces(
        "bedrock",
        "model invocation logs of Amazon Bedrock, from S3 or CloudWatch",
        bedrock.fits,
        lambda file: rows(file, bedrock.Invocations),
    ),
    _Traces(
        "evals",
        "OpenAI Evals: data sets, output items with graders' results, logs of oaieval",
        openai_evals.fits,
        lambda file: rows(file, openai_evals.EvalRows),
    ),
    _Traces(
        "vertex",
        "request-response logs of Vertex AI, as JSON out of BigQuery",
        vertex.fits,
        lambda file: rows(file, vertex.VertexRows),
    ),
    _Traces(
        "mlflow",
        "traces of MLflow (JSON, JSON Lines)",
        mlflow.fits,
        lambda file: rows(file, mlflow.Traces),
    ),
)
"""The readers of this package, in the order of the list; a reader that knows a file better comes first."""


def readers() -> dict[str, Reader]:
    """Every reader by the name of its format; one of another package never takes the place of a built-in one."""
    found: dict[str, Reader] = {each.name: each for each in BUILT_IN}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        found.setdefault(entry.name, _PackageReader(entry))
    return found


def reader(name: str) -> Reader:
    """The reader of a format.

    Raises:
        UsageError: There is no such format; the message lists the formats, and names the most similar one.
    """
    known = readers()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"there is no format {name!r} to import",
        cause=f"{hint}these are read: {', '.join(known)}",
        next_command="reenact import --help",
    )


def guessed(error: InteropError, name: str, file: str, data: bytes) -> InteropError:
    """A refusal that also says which other format the file looks like, if it looks like one.

    Args:
        error: The refusal of the reader.
        name: The name of the format that was given.
        file: Name of the file, for the message.
        data: The file.
    """
    head = data[:HEAD]
    known = readers()
    fitting = [] if known[name].fits(head) else [each for each in known.values() if each.fits(head)]
    return InteropError(
        f"{file} is not imported: {error.message}",
        cause=f"it looks like {fitting[0].name}: {fitting[0].about}" if fitting else error.cause,
        next_command="reenact import --help" if fitting else error.next_command,
        **error.facts,
    )
