"""Results compared: output as it is printed, exit status and declared files at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from reenact.abc.store import Recording
from reenact.facts.alike import shared_length
from reenact.privacy import make_redactor
from reenact.replaying.normalising import normalised
from reenact.replaying.report import Difference

_Cleaned = Callable[[bytes], bytes | None]
_CONTEXT = 60
_KEPT = 8 << 20
_NAMES = {1: "stdout", 2: "stderr"}


class Output:
    """Compares one stream, byte by byte, with the recorded one as the agent prints.

    Where bytes differ, both sides are compared once more with every credential, and every stand-in that redaction
    left of one, reduced to the constant of its class, and by the named rules of ``replaying.normalising``. What is
    shown of a difference is shown of these, so that nothing is told that the recording does not hold.

    Args:
        stream: 1 or 2.
        recorded: Gives the recorded bytes from the start, a piece at a time.
        cleaned: Gives all that was printed on either side as it is compared (``abc.redaction.Redactor.printed``).

    Attributes:
        difference: The first one; None while there is none.
        forgiven: What the rules took out for both sides to agree, in words.
    """

    def __init__(self, stream: int, recorded: Callable[[], Iterator[bytes]], cleaned: _Cleaned | None = None) -> None:
        self.stream = stream
        self._cleaned = cleaned or make_redactor().printed
        self._again = recorded
        self._recorded = recorded()
        self._rest = b""
        self._kept = bytearray()
        self._offset = 0
        self._stopped = False
        self.difference: Difference | None = None
        self.forgiven = ""

    def stop(self) -> None:
        """From here on nothing is compared."""
        self._stopped = True

    def feed(self, data: bytes) -> None:
        """The agent printed ``data``."""
        if self._stopped:
            return
        if len(self._kept) <= _KEPT:
            self._kept += data
        self._compare(data)

    def end(self) -> Difference | None:
        """The agent has ended: whether it printed all that was recorded, and nothing else."""
        if self.difference is None and not self._stopped:
            left = self._rest or next((piece for piece in self._recorded if piece), b"")
            if left:
                self._differ()
        if self.difference is not None and len(self._kept) <= _KEPT:
            recorded, now = self._cleaned(b"".join(self._again())), self._cleaned(bytes(self._kept))
            if recorded is None or now is None:
                return self.difference
            if recorded == now:
                self.difference = None
            elif (bare := normalised(recorded)).data == normalised(now).data:
                self.difference = None
                self.forgiven = f"{_NAMES[self.stream]} compared without {', '.join(bare.rules)}"
            else:
                self.difference = self._told(recorded, now)
        return self.difference

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
        self.difference = Difference(name, text, None, {"offset": self._offset})

    def _told(self, recorded: bytes, now: bytes) -> Difference:
        """What both sides are where they part, without credentials."""
        at = shared_length(recorded, now)
        line = now[:at].rpartition(b"\n")[2][-_CONTEXT:]
        was, is_now = _shown(line, recorded[at:]), _shown(line, now[at:])
        name = _NAMES[self.stream]
        return Difference(
            name,
            f"{name} differs at byte {self._offset}\n  recorded  {was}\n  now       {is_now}",
            None,
            {"offset": self._offset, "recorded": was, "now": is_now},
        )


def _shown(line: bytes, rest: bytes) -> str:
    if not rest:
        return f"{line.decode('utf-8', 'replace')!r} and then nothing"
    return repr((line + rest.partition(b"\n")[0][:_CONTEXT]).decode("utf-8", "replace"))


class Printed:
    """What the lanes of a run print, compared with what they printed when a block or function was recorded.

    Args:
        recording: The run.
        cleaned: See ``Output``.
    """

    def __init__(self, recording: Recording, cleaned: _Cleaned | None = None) -> None:
        kept = recording.run.capture.get("output")
        self.remarks: tuple[str, ...] = ()
        self._outputs: list[Output] = []
        if kept == "lanes":
            self._outputs = [Output(n, partial(recording.printed, n), cleaned) for n in (1, 2)]
        elif kept == "process":
            self.remarks = ("output not compared: a whole process was recorded, and a part of it was replayed",)
        else:
            self.remarks = ("output not compared: it was not recorded",)

    def feed(self, stream: int, data: bytes) -> None:
        """A lane printed."""
        if self._outputs and stream in (1, 2):
            self._outputs[stream - 1].feed(data)

    def end(self) -> list[Difference]:
        """The entry point has ended: how its output differs."""
        found = [difference for output in self._outputs if (difference := output.end()) is not None]
        self.remarks += tuple(output.forgiven for output in self._outputs if output.forgiven)
        return found


def files(recorded: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Difference]:
    """How declared files differ."""
    for name in sorted({*recorded, *now}):
        was, digest = recorded.get(name), now.get(name)
        if was != digest:
            what = "is missing" if digest is None else ("is new" if was is None else "has other contents")
            data = {"file": name, "recorded": was, "now": digest}
            yield Difference("file", f"declared file {name} {what}", None, data)
