"""Parts of printed output that are ignored where its bytes differ: named rules, pure, counted.

A frozen call raises its recorded error from our own code, because the code below it (a transport, a tool's body) did
not run. So its traceback has other lines, and the replay of a program that logs its errors would never be *same*. The
address in a ``repr`` is new in every process. Nothing else is ignored: the errors themselves, their causes, and
tracebacks that pass through no recorded call are compared byte by byte.
"""

from __future__ import annotations

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex

_NEWLINE = lazy_regex(rb"(\r?\n)")
_ESCAPED_NEWLINE = lazy_regex(rb"(\\n)")
_ON_ONE_LINE = b"Traceback (most recent call last):\\n"
"""How a traceback begins in a log in JSON. Elsewhere, a backslash and an *n* belong to a line of the program's code."""
_HEADER = lazy_regex(rb"(?P<lead>[^\n]*?)(?:Exception Group )?Traceback \(most recent call last\):[ \t]*")
_MARGIN = lazy_regex(rb"[ |+]*")
_CONNECTORS = (
    b"The above exception was the direct cause of the following exception:",
    b"During handling of the above exception, another exception occurred:",
)
_OURS = lazy_regex(rb"File (?:\x1b\[[0-9;]*m)?\\?\"[^\"\n]*[\\/]reenact[\\/](?:seams|recording|replaying)[\\/]")
_ADDRESS = lazy_regex(rb"\bat 0x[0-9a-fA-F]{6,16}\b")


@dataclass(frozen=True, slots=True)
class NormalOutput:
    """Output without what differs from process to process.

    Attributes:
        data: The bytes that are left.
        tracebacks: Tracebacks of recorded calls whose lines were taken out.
        addresses: Addresses taken out.
    """

    data: bytes
    tracebacks: int
    addresses: int

    @property
    def rules(self) -> tuple[str, ...]:
        """The ignored differences, in words, with counts."""
        counts = (("traceback-lines", self.tracebacks), ("addresses", self.addresses))
        return tuple(f"{name} ({count})" for name, count in counts if count)


def normalised(data: bytes) -> NormalOutput:
    """Apply every rule. Linear in the data."""
    data, addresses = _ADDRESS.subn(b"at 0x", data)
    pieces = _split(data)
    lines = pieces[::2]
    drop: set[int] = set()
    tracebacks = 0
    for chain in _chains(lines, _blocks(lines)):
        inside = [line for start, end in chain for line in range(start, end)]
        if any(_OURS.search(lines[line]) for line in inside):
            tracebacks += 1
            drop.update(inside)
    for number in drop:
        pieces[2 * number] = lead = _lead(lines[number])
        if not lead and 2 * number + 1 < len(pieces):
            pieces[2 * number + 1] = b""
    return NormalOutput(b"".join(pieces), tracebacks, addresses)


def _split(data: bytes) -> list[bytes]:
    """Lines, each followed by the characters that end it."""
    pieces: list[bytes] = []
    for piece in _NEWLINE.split(data):
        pieces += _ESCAPED_NEWLINE.split(piece) if _ON_ONE_LINE in piece else [piece]
    return pieces


def _lead(line: bytes) -> bytes:
    """The text of a log before the word *Traceback*, on the same line."""
    header = _HEADER.fullmatch(line)
    lead = header["lead"] if header is not None else b""
    return b"" if _MARGIN.fullmatch(lead) else lead


def _blocks(lines: list[bytes]) -> list[tuple[int, int]]:
    """The places of tracebacks: from the header to the end of the last indented line."""
    blocks = []
    number = 0
    while number < len(lines):
        header = _HEADER.fullmatch(lines[number]) if b"Traceback (most" in lines[number] else None
        start = number
        number += 1
        if header is None:
            continue
        margin = header["lead"].replace(b"+", b"|") if _MARGIN.fullmatch(header["lead"]) else b""
        # There may be no marks below a line of code: then only an empty line is left.
        while number < len(lines) and (lines[number].startswith(margin + b"  ") or lines[number] == margin.rstrip()):
            number += 1
        blocks.append((start, number))
    return blocks


def _chains(lines: list[bytes], blocks: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Tracebacks, joined where one of the sentences between an error and its cause stands between them."""
    chains: list[list[tuple[int, int]]] = []
    before = 0
    for start, end in blocks:
        between = lines[before:start]
        if chains and any(line.strip(b" |+") in _CONNECTORS for line in between):
            chains[-1].append((start, end))
        else:
            chains.append([(start, end)])
        before = end
    return chains
