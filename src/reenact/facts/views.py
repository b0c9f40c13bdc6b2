"""Views: the texts that colours, escapes and encodings hide in a text, and the way back to their places.

A view is a decoded text, made of a whole text or of a part, that is searched for credentials. It returns the spans
found in it as spans of the original text. If every character of the view comes from some characters of the original
(escapes, percent-encoding, colours), these are plain spans. Else (base64, compression, UTF-16) a span covers the
whole encoded part, and comes with the spans inside it. Each view is made in one pass.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial

from reenact.facts import wraps
from reenact.facts.credentials import protected
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_map import TextMap, changed
from reenact.facts.text_spans import CredentialSpan, EncodedText

Found = list[CredentialSpan]

_LETTERS = rb"(?:\[[0-9;:?]{0,32}[A-Za-z]|\([A-Z0-9])"
_ESCAPED = rb"\\\\{0,6}(?:u001[bB]|x1[bB]|033)"
_PARTING = lazy_regex(rb"\x1b" + _LETTERS + rb"(?=[\w-])|" + _ESCAPED + _LETTERS + rb"(?=[\w-])")
_IN_WORD = lazy_regex(rb"(?<!\\)[\w-]")
_ESCAPE = lazy_regex(rb"\\(?:u00[1-7]|x[1-7]|033|/)")
_ENTITY = lazy_regex(rb"&(?:quot|apos|lt|gt|amp|#)")
_PLAINER = lazy_regex(  # each alternative begins with a letter of its own, so that the search is fast
    rb"\\(?P<deep>\\{0,6})(?:u00(?P<u>[2-7][0-9a-fA-F])|x(?P<x>[2-7][0-9a-fA-F])|(?P<slash>/))"
    rb"|&(?:(?P<entity>quot|apos|lt|gt|amp)|#0{0,6}(?P<number>\d{2,3})|#[xX]0{0,6}(?P<hex>[0-9a-fA-F]{2}));"
    rb"|\x1b" + _LETTERS + rb"|" + _ESCAPED + _LETTERS
)
_ENTITIES = {b"quot": b'"', b"apos": b"'", b"lt": b"<", b"gt": b">", b"amp": b"&"}
_END = rb"(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n)"
_FOLDS = (
    (b"quoted-printable", lazy_regex(rb"[Qq]uoted-[Pp]rintable"), lazy_regex(rb"=" + _END + rb"|=3D")),
    (
        b"transfer-encoding",
        lazy_regex(rb"(?i)transfer-encoding\S{1,8}\s{0,4}\S{0,8}chunked"),
        lazy_regex(_END + rb"[0-9a-fA-F]{1,6}" + _END),
    ),
)
"""For each way to fold a text: a word of its head in small letters, the pattern of the head's line, and that of the
folds."""
_PERCENT = lazy_regex(rb"%(0[9AaDd]|[2-7][0-9a-fA-F])")
_PERCENT_OR_PLUS = lazy_regex(_PERCENT.pattern + rb"|(?<=%3A)\+|(?<=%2C)\+|(?<=%3a)\+|(?<=%2c)\+")
_STOPS = bytes(32 if byte in b" \t\r\n\"'<>\\`" else 97 for byte in range(256))
_RUN = lazy_regex(rb"[A-Za-z0-9+/_-]{20,}+(?:(?:\\{1,7}[rn]|\r?\n[ \t]{0,8}){1,2}+[A-Za-z0-9+/_-]{4,}+)*+={0,2}")
_CODED = bytes(97 if (chr(byte).isalnum() and byte < 128) or byte in b"+/_-" else 32 for byte in range(256))
_TWENTY = b"a" * 20
"""The beginning of a run, in a text with an ``a`` for each character of a run: a search for it is faster than one for
the run."""
_ENCODED = lazy_regex(rb'"~(?:bytes|bytearray|str)":"([A-Za-z0-9+/]*+={0,2})(?:"|\Z)')
"""Base64 that ``facts.scalars`` has written."""
_IS_HEX = lazy_regex(rb"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")
_BREAK = lazy_regex(rb"\\{1,7}[rn]|\r?\n[ \t]*")
_SNIFFED = 96
_LEAST_PRINTABLE = 0.75
_PRINTABLE = bytes(byte for byte in range(256) if 32 <= byte < 127 or byte in b"\t\r\n\x1b")
_LONGEST_RUN = 4096
_SHORTEST = 20
_CUT_OFF = 128
_BINARY = 512
_WIDTHS = (60, 64, 70, 72, 76, 80)
"""The usual lengths of lines of an encoded text."""

MEDIA = (
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0", b"OggS", b"ID3", b"fLaC"),
    *(b"\xff\xfb", b"\xff\xf3", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2", b"OTTO", b"PK\3\4", b"7z\xbc\xaf", b"Rar!", b"BZh"),
    *(b"\xfd7zXZ", b"(\xb5/\xfd", b"\0asm", b"SQLite format 3\0", b"\xd0\xcf\x11\xe0", b"\x7fELF", b"glTF"),
)
"""The beginnings of images, audio, archives and documents. Such data are kept unchanged."""
_PDF = b"%PDF-"
_OF_NO_TEXT = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x0b\x0c\x1b")
HEAD = 64
"""How many bytes of data decide whether they have one of these beginnings."""


def is_media(head: bytes) -> bool:
    """Whether data with this beginning is an image, audio, an archive or a document. The first bytes decide. A text may
    begin with them too (``BMW``), so there must also be a character that no text has."""
    if head.startswith(_PDF):
        return True
    head = head[:HEAD]
    return (head.startswith(MEDIA) or head[4:8] == b"ftyp") and head != head.translate(None, _OF_NO_TEXT)


class View:
    """A text, and the function that turns spans in it into spans of the original text."""

    __slots__ = ("back", "text")

    def __init__(self, text: bytes, back: Callable[[Found], Found]) -> None:
        self.text = text
        self.back = back


def views(data: bytes, *, in_json: bool) -> Iterator[View]:
    """Every view of ``data``, one level deep.

    Args:
        data: Any text.
        in_json: Whether the text is JSON. In its views, quotes stay escaped.
    """
    packed = _packed(data)
    if packed is not None:
        yield packed
        return
    binary = b"\0" in data[:_BINARY]
    if not binary and _has_escape(data):
        text, places = changed(data, _PLAINER, _plainer(in_json, b""))
        if len(places.view) > 1:
            whole = in_json or not places.windows(text)
            yield from _elsewhere(text, places, whole)
            if any(_IN_WORD.match(data, found.start() - 1) for found in _PARTING.finditer(data, 1)):
                # some colours are inside a word or between two words
                yield from _elsewhere(*changed(data, _PLAINER, _plainer(in_json, b" ")), whole)
            if whole:
                return
    if b"%" in data and not binary:
        yield from _quoted(data)
    yield from _unfolded(data)
    zero = wraps.DUMP_BEGINS.search(data, at) if (at := data.find(b"00000000")) >= 0 else None
    dump = None if zero is None else wraps.DUMPED.search(data, zero.start())
    inner = None if dump is None else _wrapped(wraps.DUMP, data, *dump.span())
    yield from () if inner is None else (inner,)
    at = data.find(b"\x1f\x8b\x08")
    if at > 0:  # the compressed body follows the head of a response
        inner = _wrapped(wraps.GZIP, data, at, len(data))
        yield from () if inner is None else (inner,)
    yield from _runs(data)


def _has_escape(data: bytes) -> bool:
    """Whether a text may have colour codes, escapes or entities. Each search is for one first byte, which is fast."""
    return b"\x1b" in data or _ESCAPE.search(data) is not None or _ENTITY.search(data) is not None


# -- all of a text -----------------------------------------------------------------------------------------------------


def _packed(data: bytes) -> View | None:
    """The text in data that is compressed, framed or UTF-16 as a whole."""
    head = data[:4]
    if head[:2] == b"\x1f\x8b":
        return _wrapped(wraps.GZIP, data, 0, len(data))
    if head[:1] == b"\x78" and head[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
        return _wrapped(wraps.ZLIB, data, 0, len(data))
    codec = wide(data[:256])
    if codec:
        return _wrapped(codec, data, 0, len(data))
    if head[:2] == b"\0\0" and wraps.framed(data) is not None:
        return _framed(data)
    return None


def wide(head: bytes) -> str:
    """The encoding of a text with this beginning, if it has two bytes per character; empty for other texts."""
    if head[:2] == b"\xff\xfe":
        return wraps.UTF16_LE
    if head[:2] == b"\xfe\xff":
        return wraps.UTF16_BE
    half = len(head) // 2
    if half < 4 or b"\0" not in head:
        return ""
    if head[1::2].count(0) >= half * 0.8 and head[::2].count(0) <= half * 0.1:
        return wraps.UTF16_LE
    if head[::2].count(0) >= half * 0.8 and head[1::2].count(0) <= half * 0.1:
        return wraps.UTF16_BE
    return ""


def _framed(data: bytes) -> View:
    """The messages of an event stream as one text, with a line end between their payloads."""
    text = bytearray(data)
    at = before = 0
    while (found := wraps.framed(data, at)) is not None:
        text[before : found[0]] = b"\n" * (found[0] - before)
        before, at = found[1], found[2]
    text[before:at] = b"\n" * (at - before)

    def back(spans: Found) -> Found:
        if not spans and b"~rx" not in data:
            return []
        return [CredentialSpan(0, len(data), "", wrapped=EncodedText(wraps.FRAMES, data, data, tuple(_tight(spans))))]

    return View(bytes(text), back)


# -- views whose characters stand for some of the text -----------------------------------------------------------------


def _unfolded(data: bytes) -> Iterator[View]:
    """The views of a text without its soft line ends or its chunk sizes, if its head announces these."""
    lower = data.lower()
    for word, said, fold in _FOLDS:
        if word in lower and said.search(data) is not None:
            text, places = changed(data, fold, lambda found: b"=" if found[0] == b"=3D" else b"")
            if len(places.view) > 1:
                yield from _elsewhere(text, places, whole=False)


def _elsewhere(text: bytes, places: TextMap, whole: bool) -> Iterator[View]:
    """The decoded views of a text: one of the whole text, or one for each window."""
    for start, end in (not whole and places.windows(text)) or ((0, len(text)),):
        yield View(text[start:end], partial(_back, start, places))


def _back(start: int, places: TextMap, spans: Found) -> Found:
    return [_moved(span._replace(start=start + span.start, end=start + span.end), places) for span in spans]


def _moved(span: CredentialSpan, places: TextMap) -> CredentialSpan:
    return span._replace(start=places.begin(span.start), end=places.end(span.end))


def _plainer(in_json: bool, colour: bytes) -> Callable[[re.Match[bytes]], bytes | None]:
    """The replacement of a match: ``colour`` for a colour code, one character for an escape or an entity. Quotes and
    backslashes stay escaped."""

    def change(found: re.Match[bytes]) -> bytes | None:
        if found["slash"] is not None:
            return b"/"
        if found["entity"] is not None:
            character = _ENTITIES[found["entity"]]
        elif found["number"] is not None:
            character = bytes([int(found["number"])]) if int(found["number"]) < 127 else b""
        elif (digits := found["u"] or found["x"] or found["hex"]) is not None:
            character = binascii.unhexlify(digits)
        else:
            return colour
        if not character or not 32 <= character[0] < 127:
            return None
        if character not in (b'"', b"\\"):
            return character
        deep = 2 * len(found["deep"]) + 1 if found["deep"] is not None else int(in_json)
        return b"\\" * (deep if in_json else deep - 1) + character

    return change


def _quoted(data: bytes) -> Iterator[View]:
    """Views of the percent-encoded parts, one for each word with such a part."""
    stops = None
    at = 0
    while (found := _PERCENT.search(data, at)) is not None:
        if stops is None:
            stops = data.translate(_STOPS)
        place = found.start()
        begin = max(stops.rfind(b" ", max(at, place - _LONGEST_RUN), place) + 1, at, place - _LONGEST_RUN)
        end = stops.find(b" ", found.end())
        end = len(data) if end < 0 else end
        yield _unquoted(data, begin, end)
        at = end


def _unquoted(data: bytes, begin: int, end: int) -> View:
    text = data[begin:end]
    maps: list[TextMap] = []
    while len(maps) < 3 and b"%" in text:
        text, places = changed(text, _PERCENT_OR_PLUS, lambda found: binascii.unhexlify(found[1]) if found[1] else b" ")
        if len(places.view) == 1:
            break
        maps.append(places)

    def back(spans: Found) -> Found:
        for places in reversed(maps):
            spans = [_moved(span, places) for span in spans]
        out = []
        for span in spans:
            start, stop, wrapped = begin + span.start, begin + span.end, span.wrapped
            if wrapped is not None and b"%" in data[start:stop]:
                wrapped = wrapped._replace(quoted=len(maps))
            out.append(span._replace(start=start, end=stop, wrapped=wrapped))
        return out

    return View(text, back)


# -- encoded parts -----------------------------------------------------------------------------------------------------


def encoded(data: bytes) -> list[tuple[int, int]]:
    """The places of recorded bytes in base64. The bytes may contain a credential, but a shape in their base64 means
    nothing."""
    return [found.span(1) for found in _ENCODED.finditer(data)]


def decoded(data: bytes, start: int, end: int) -> View | None:
    """The view of the bytes at such a place, whether they are a text or not; None where they are not complete."""
    return _wrapped(wraps.BASE64, data, start, end)


def begins_as_text(data: bytes) -> bool:
    """Whether bytes begin like a text, or like data that hold a text."""
    return _like_text(data[:_SNIFFED])


def _runs(data: bytes) -> Iterator[View]:
    """The parts in base64 or hexadecimal that begin as a text does."""
    for start, end in coded(data):
        for begin, stop in _bounds(data, start, end):
            view = _run(data, begin, stop)
            if view is not None:
                yield view


def coded(data: bytes) -> Iterator[tuple[int, int]]:
    """The places where ``_RUN`` matches."""
    flat = data.translate(_CODED)
    at = flat.find(_TWENTY)
    while (found := _RUN.match(data, at) if at >= 0 else None) is not None:
        yield found.span()
        at = flat.find(_TWENTY, found.end())


def _bounds(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges of an encoded text in a run of its characters: the whole run, without the letter of an escape before
    it. If the lines do not belong together, each line is a range."""
    if data[start - 1 : start] == b"\\" and data[start : start + 1] in (b"n", b"r", b"t"):
        start += 1
    raw = data[start:end]
    first = _BREAK.search(raw)
    if first is None:
        yield start, end
        return
    lines = _BREAK.split(raw)
    usual = len(lines[0] if start or len(lines) < 3 else lines[1])
    if len(lines) == 2 and not (usual in _WIDTHS and _goes_on(lines[1])):  # two lines must be one text
        usual = -1
    if max(map(len, lines)) == usual and all(len(line) == usual for line in lines[start == 0 : -1]):
        yield start, end
        return
    at = start
    for each in _BREAK.finditer(data, start, end):
        if each.start() - at >= _SHORTEST:
            yield at, each.start()
        at = each.end()
    if end - at >= _SHORTEST:
        yield at, end


def _goes_on(line: bytes) -> bool:
    plain = wraps.undone(wraps.BASE64, _whole_groups(line))
    return plain is not None and not plain.translate(None, _PRINTABLE)


def _run(data: bytes, start: int, end: int) -> View | None:
    start += 2 * (data[start : start + 2] in (b"0x", b"0X"))
    head = data[start : min(end, start + 2 * _SNIFFED)]
    if _IS_HEX.fullmatch(head[: len(head) // 2 * 2]) is not None:
        for lead in (0, 1) if start == 0 else (0,):
            even = head[lead:]
            if _like_text(binascii.unhexlify(even[: len(even) // 2 * 2])):
                return _wrapped(wraps.HEX, data, start + lead, end - (end - start - lead) % 2)
        return None
    for lead in _leads(head, start, end):
        plain = wraps.undone(wraps.BASE64, _whole_groups(head[lead:]))
        if plain is not None and _like_text(plain[:_SNIFFED]) and not _is_protected(data, start):
            raw = data[start + lead : end]
            size = len(raw) - sum(len(each) for _, each in wraps.breaks(raw))
            over = size % 4 == 1 and raw[-1:] != b"="  # a group of four is cut off after its first
            return _wrapped(wraps.BASE64, data, start + lead, end - over)
    return None


def _leads(head: bytes, start: int, end: int) -> tuple[int, ...]:
    """The places in a run at which an encoded text may begin: at the run's beginning, or after a path. A run at the
    beginning of the data may be cut from a longer one, so it may begin at any character of a group."""
    if start == 0 and end >= _CUT_OFF:
        return (0, 1, 2, 3)
    path = head.rfind(b"/", 0, 2 * _SHORTEST) + 1
    return (0, path) if path else (0,)


def _whole_groups(head: bytes) -> bytes:
    """The beginning of an encoded text, up to the end of the last full group of four characters."""
    plain = re.sub(rb"\\{1,7}[rn]|\s|=", b"", head)
    return plain[: len(plain) // 4 * 4]


def _like_text(plain: bytes) -> bool:
    """Whether a beginning is that of a text, or of data that hold a text."""
    if len(plain) < 8 or is_media(plain):
        return False
    if plain[:2] == b"\x1f\x8b" or (plain[:1] == b"\x78" and plain[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda")):
        return True
    if wide(plain):
        return True
    try:
        plain.decode()
    except UnicodeDecodeError as error:
        if error.start < len(plain) - 3:
            return len(plain.translate(None, _PRINTABLE)) <= len(plain) * (1 - _LEAST_PRINTABLE)
    return len(plain.translate(None, _PRINTABLE)) <= len(plain) // 2


def _wrapped(codec: str, data: bytes, start: int, end: int) -> View | None:
    raw = data[start:end]
    text = wraps.undone(codec, raw)
    if text is None:
        return None

    def back(spans: Found) -> Found:
        if not spans and b"~rx" not in text:
            return []
        return [CredentialSpan(start, end, "", wrapped=EncodedText(codec, raw, text, tuple(_tight(spans))))]

    return View(text, back)


def _tight(spans: Found) -> Found:
    return [span._replace(tight=True) for span in spans]


def _is_protected(data: bytes, at: int) -> bool:
    """Whether the JSON string that begins at ``at`` is a protocol id, or was signed by a provider."""
    lead = data[max(0, at - 64) : at].rstrip(b'\\" \t')
    if not lead.endswith(b":"):
        return False
    name = lead[:-1].rstrip(b'\\" \t').rpartition(b'"')[2]
    return protected(name.decode("latin-1"))
