"""The formats that are read and written, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import InteropError, UsageError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.policy import Policy
from reenact.interop import archive_writing, cassette_writing, plain_json
from reenact.interop.evals_writing import rows
from reenact.interop.exchange_export import export_exchanges
from reenact.interop.exchanges import ExchangesOfRun, decoded
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import contents
from reenact.interop.importing import Origin
from reenact.interop.originals import original
from reenact.interop.otlp.run_spans import ExportedSpans, exported
from reenact.interop.readers import HEAD, ReaderOptions, StreamReader, guessed, reader
from reenact.interop.trace_import import untold
from reenact.interop.traces import Trace


def read(
    name: str, path: Path, asked: ReaderOptions, progress: Callable[[int, int], object] = untold
) -> tuple[list[ExchangesOfRun | Trace], Origin]:
    """Everything in a file, read to its end; nothing is written. The content of traces is read again when they are
    written.

    Args:
        name: The name of the format.
        path: The path of the file.
        asked: The user's options for reading it.
        progress: Called with the number of bytes that were read, and the number of all bytes, again and again. Formats
            that are read at once do not call it.

    Raises:
        UsageError: There is no such format.
        InteropError: The file cannot be read; the message says why, and where.
    """
    chosen = reader(name)
    data = b""
    try:
        if isinstance(chosen, StreamReader):
            file = original(path)
            size = file.size
            file = replace(file, told=lambda done: progress(done, size))
            with file.open() as opened:
                data = opened.read(HEAD)
            return list(chosen.stream(file, asked)), Origin(file.name, file.digest())
        data = contents(path)
        return list(chosen.read(data, asked)), Origin.of(path.name, data)
    except (MemoryError, RecursionError):
        raise refused(f"{path.name} takes more memory than there is", "made to exhaust its reader") from None
    except InteropError as error:
        raise guessed(error, name, path.name, data) from None


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run in a format of another tool.

    Attributes:
        data: The file.
        runs: Whether a script can run a program against it (``plain.script``).
        exchanges: The number of items in it.
        what: The word for the items: exchanges, or rows.
        lost: The facts of the run that the file lacks: in words, with their number.
    """

    data: bytes
    runs: bool
    exchanges: int
    lost: Mapping[str, int]
    what: str = "exchange"


WRITERS: Final = ("vcr", "har", "json", "evals")
"""The formats that are written."""

SPANS: Final = "otel"
"""The format that is written, or sent, as spans."""


def spans(recording: Recording, policy: Policy, progress: Callable[[int, int], object] = untold) -> ExportedSpans:
    """A run as spans of OpenTelemetry.

    Args:
        recording: The run.
        policy: The rules for content in spans, and for the names of attributes.
        progress: Called with the number of events that were read, and the number of all events, again and again.
    """
    return exported(
        recording,
        dialect=policy.otel_dialect,
        inline=policy.otel_content == "inline",
        version=version("reenact"),
        progress=progress,
    )


def write(name: str, recording: Recording, *, as_json: bool = False) -> WrittenRun:
    """A run in a format of another tool.

    Args:
        name: The name of the format.
        recording: The run.
        as_json: Write a cassette in JSON.

    Raises:
        UsageError: There is no such format, or the run holds no exchange that the format can keep.
        InteropError: The run cannot be written.
    """
    run = recording.run
    if name == "evals":
        return _rows(recording)
    left = export_exchanges(recording)
    lost = dict(left.lost)
    if not left.exchanges:
        raise UsageError(
            f"run {tail(run.id)} holds no HTTP exchange that could be exported",
            cause="; ".join(f"{what} ({count})" for what, count in lost.items()) or "it holds nothing",
            next_command=f"reenact show {tail(run.id)}",
        )
    exchanges = left.exchanges
    if name == "vcr":
        data = cassette_writing.write(exchanges, as_json=as_json)
        lost |= dict.fromkeys(("times of exchanges",), len(exchanges))
    elif name == "har":
        whole = tuple(each for each in exchanges if decoded(each) is not None)
        if len(whole) < len(exchanges):
            lost[archive_writing.UNDECODABLE] = len(exchanges) - len(whole)
        exchanges = whole
        data = archive_writing.write(whole, version("reenact"), f"run {run.id}")
    elif name == "json":
        data = plain_json.write(exchanges, {"run": run.id, "agent": run.agent, "lost": lost})
    else:
        raise UsageError(
            f"there is no format {name!r} to export",
            cause=f"these are written: {', '.join(WRITERS)}",
            next_command="reenact export --help",
        )
    return WrittenRun(data, name == "json", len(exchanges), lost)


def _rows(recording: Recording) -> WrittenRun:
    """The model calls of a run as rows of OpenAI Evals."""
    lost: Counter[str] = Counter()
    made = list(rows(recording, lost))
    said = {what: count for what, count in lost.items() if count}
    if not made:
        raise UsageError(
            f"run {tail(recording.run.id)} holds no model call that could be exported",
            cause="; ".join(f"{what} ({count})" for what, count in said.items()) or "it holds nothing",
            next_command=f"reenact show {tail(recording.run.id)}",
        )
    return WrittenRun(b"".join(made), False, len(made), said, "row")
