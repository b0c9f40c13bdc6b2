"""Results compared: the output while it is printed, and exit status and declared files at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from reenact.abc.store import Recording
from reenact.facts.common_bytes import shared_length
from reenact.privacy import make_redactor
from reenact.replaying.normal_output import normalised
from reenact.replaying.replay_report import EndDifference

_Cleaned = Callable[[Sequence[bytes]], list[bytes] | None]
_CONTEXT = 60
_KEPT = 8 << 20
_NAMES = {1: "stdout", 2: "stderr"}


class Output:
    """Compares one stream with the recorded one, byte by byte, while the agent prints.

    Args:
        stream: 1 or 2.
        recorded: Gives the recorded bytes from the start, a piece at a time.

    Attributes:
        difference: The first difference; None while there is none.
        forgiven: The parts that the rules took out for both sides to agree, in words.
    """

    def __init__(self, stream: int, recorded: Callable[[], Iterator[bytes]]) -> None:
        self.stream = stream
        self._again = recorded
        self._recorded = recorded()
        self._rest = b""
        self._kept = bytearray()
        self._offset = 0
        self._stopped = False
        self.difference: EndDifference | None = None
        self.forgiven = ""

    def stop(self) -> None:
        """Compare nothing from now on."""
        self._stopped = True

    def feed(self, data: bytes) -> None:
        """Compare ``data``, which the agent has printed."""
        if self._stopped:
            return
        if len(self._kept) <= _KEPT:
            self._kept += data
        self._compare(data)

    def end(self) -> None:
        """Compare the end of the output: the agent must have printed all that was recorded."""
        if self.difference is None and not self._stopped:
            left = self._rest or next((piece for piece in self._recorded if piece), b"")
            if left:
                self._differ()

    @property
    def now(self) -> bytes:
        """The present output, unless it is too long to be kept."""
        return bytes(self._kept) if len(self._kept) <= _KEPT else b""

    @property
    def is_open(self) -> bool:
        """Whether the output differs, and is short enough to be compared once more."""
        return self.difference is not None and len(self._kept) <= _KEPT

    @property
    def recorded(self) -> bytes:
        """The recorded output."""
        return b"".join(self._again())

    def judge(self, recorded: bytes, now: bytes) -> None:
        """Compare the two sides, which are cleaned alike, by the named rules of ``replaying.normal_output`` too. A
        difference is shown between the cleaned sides, so that it shows nothing that the recording does not hold."""
        if recorded == now:
            self.difference = None
        elif (bare := normalised(recorded)).data == normalised(now).data:
            self.difference = None
            self.forgiven = f"{_NAMES[self.stream]} compared without {', '.join(bare.rules)}"
        else:
            self.difference = self._told(recorded, now)

    def _compare(self, data: bytes) -> None:
        while data and self.difference is None:
            if not self._rest:
                self._rest = next((piece for piece in self._recorded if piece), b"")
                if not self._rest:
                    self._differ()
                    return
            size = min(len(data), len(self._rest))
            if data[:size] != self._rest[:size]:
                at = next(i for i in range(size) if data[i] != self._rest[i])
                self._offset += at
                self._differ()
                return
            self._offset += size
            data, self._rest = data[size:], self._rest[size:]

    def _differ(self) -> None:
        name = _NAMES[self.stream]
        text = f"{name} differs at byte {self._offset} (it is too long, or could not be cleaned, to be shown)"
        self.difference = EndDifference(name, text, None, {"offset": self._offset})

    def _told(self, recorded: bytes, now: bytes) -> EndDifference:
        """Both sides where they differ, without credentials."""
        at = shared_length(recorded, now)
        line = now[:at].rpartition(b"\n")[2][-_CONTEXT:]
        was, is_now = _shown(line, recorded[at:]), _shown(line, now[at:])
        name = _NAMES[self.stream]
        return EndDifference(
            name,
            f"{name} differs at byte {self._offset}\n  recorded  {was}\n  now       {is_now}",
            None,
            {"offset": self._offset, "recorded": was, "now": is_now},
        )


def outputs_differ(outputs: Sequence[Output], cleaned: _Cleaned | None = None) -> list[EndDifference]:
    """The differences of the output after the agent has ended.

    If bytes differ, both sides are compared once more, with every credential and every stand-in of one replaced by a
    constant. A credential on one stream counts as a credential on the other as well.

    Args:
        outputs: The streams of a run.
        cleaned: Returns the whole output in the form in which it is compared (``abc.redaction.Redactor.printed``).
    """
    for each in outputs:
        each.end()
    left = [each for each in outputs if each.is_open]
    if left:
        known = (cleaned or make_redactor().printed)(
            [text for each in left for text in (each.recorded, each.now)]
            + [each.now for each in outputs if each not in left]
        )
        if known is not None:
            for each, recorded, now in zip(left, known[::2], known[1::2], strict=False):
                each.judge(recorded, now)
    return [each.difference for each in outputs if each.difference is not None]


def learn(outputs: Sequence[Output], cleaned: _Cleaned | None) -> None:
    """Learn credentials from the output of a stopped agent. This output is not compared, but values that it names as
    credentials must not be shown."""
    texts = [each.now for each in outputs if each.difference is not None]
    if texts and cleaned is not None:
        cleaned(texts)


def _shown(line: bytes, rest: bytes) -> str:
    if not rest:
        return f"{line.decode('utf-8', 'replace')!r} and then nothing"
    return repr((line + rest.partition(b"\n")[0][:_CONTEXT]).decode("utf-8", "replace"))


class LaneOutput:
    """The output of a run's lanes, compared with their output when a block or function was recorded.

    Args:
        recording: The run.
        cleaned: See ``outputs_differ``.
    """

    def __init__(self, recording: Recording, cleaned: _Cleaned | None = None) -> None:
        kept = recording.run.capture.get("output")
        self.remarks: tuple[str, ...] = ()
        self._cleaned = cleaned
        self._outputs: list[Output] = []
        if kept == "lanes":
            self._outputs = [Output(n, partial(recording.printed, n)) for n in (1, 2)]
        elif kept == "process":
            self.remarks = ("output not compared: a whole process was recorded, and a part of it was replayed",)
        else:
            self.remarks = ("output not compared: it was not recorded",)

    def feed(self, stream: int, data: bytes) -> None:
        """Compare a text that a lane has printed."""
        if self._outputs and stream in (1, 2):
            self._outputs[stream - 1].feed(data)

    def learn(self) -> None:
        """See the function ``learn``."""
        learn(self._outputs, self._cleaned)

    def end(self) -> list[EndDifference]:
        """The differences of the output after the entry point has ended."""
        found = outputs_differ(self._outputs, self._cleaned)
        self.remarks += tuple(output.forgiven for output in self._outputs if output.forgiven)
        return found


def files(recorded: Mapping[str, str], now: Mapping[str, str]) -> Iterator[EndDifference]:
    """The differences of declared files."""
    for name in sorted({*recorded, *now}):
        was, digest = recorded.get(name), now.get(name)
        if was != digest:
            what = "is missing" if digest is None else ("is new" if was is None else "has other contents")
            data = {"file": name, "recorded": was, "now": digest}
            yield EndDifference("file", f"declared file {name} {what}", None, data)
