"""Wraps: encodings in which a text is sent (base64, hexadecimal, gzip, UTF-16, frames), undone and made again.

An encoding that was undone is made again in the same layout: line breaks, padding and case stay. If the decoded text
keeps its length, the encoded text does too, except with compression. Equal texts give equal encodings.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from urllib.parse import quote_from_bytes

from reenact.facts.lazy_regex import lazy_regex

BASE64 = "base64"
HEX = "hex"
GZIP = "gzip"
ZLIB = "zlib"
UTF16_LE = "utf-16-le"
UTF16_BE = "utf-16-be"
FRAMES = "frames"
DUMP = "dump"

RATIO = 32
"""How many times longer than its compressed form a text may be, in addition to ``ROOM``."""
ROOM = 64 << 10

_BREAKS = lazy_regex(rb"\\{1,7}[rn]|[\r\n \t]")
DUMPED = lazy_regex(rb"(?:[0-9a-f]{8}:?[ \t]+(?:[0-9a-f]{2} {0,2}){1,16}+[^\n]{0,24}(?:\n|\Z))+")
"""Lines of ``xxd`` or ``hexdump -C``: a place, bytes in hexadecimal, the same bytes as letters."""
DUMP_BEGINS = lazy_regex(rb"00000000[: \t]")
"""The first place in such lines. Ids and times may have as many zeros, but none of these characters follows."""
_DUMPED_LINE = lazy_regex(rb"([0-9a-f]{8}:?[ \t]+)((?:[0-9a-f]{2} {0,2}){1,16}+)([^\n]*)(\n|\Z)")
_PAIR = lazy_regex(rb"[0-9a-f]{2}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_GZIP_HEAD = 10
_PRELUDE = 12


def undone(codec: str, raw: bytes) -> bytes | None:
    """The text that ``raw`` encodes; None where ``raw`` is not complete or not in that encoding."""
    try:
        if codec in (BASE64, HEX):
            return _from_base64(raw) if codec == BASE64 else binascii.unhexlify(raw)
        if codec in (GZIP, ZLIB):
            return _decompressed(raw, 31 if codec == GZIP else 15)
        if codec == FRAMES:
            return raw
        if codec == DUMP:
            return b"".join(binascii.unhexlify(line[2].replace(b" ", b"")) for line in _DUMPED_LINE.finditer(raw))
        return raw[: len(raw) // 2 * 2].decode(codec).encode()
    except (ValueError, zlib.error):
        return None


def rewrapped(codec: str, text: bytes, raw: bytes, quoted: int) -> bytes:
    """``text`` in the encoding of ``raw``, then percent-encoded ``quoted`` times."""
    made = _made(codec, text, raw)
    for _ in range(quoted):
        made = quote_from_bytes(made, safe="").encode()
    return made


def _made(codec: str, text: bytes, raw: bytes) -> bytes:
    if codec == BASE64:
        return _to_base64(text, raw)
    if codec == HEX:
        made = text.hex().encode()
        return made.upper() if raw.upper() == raw else made
    if codec in (GZIP, ZLIB):
        return _compressed(text, raw, codec)
    if codec == FRAMES:
        return summed(text)
    if codec == DUMP:
        return _dumped(text, raw)
    made = text.decode("utf-8", "replace").encode(codec, "surrogatepass")
    return made + raw[len(raw) // 2 * 2 :]


def _from_base64(raw: bytes) -> bytes | None:
    plain = _BREAKS.sub(b"", raw) if _BREAKS.search(raw) else raw
    plain = plain.translate(_URL_SAFE).rstrip(b"=")
    if len(plain) % 4 == 1:
        return None
    return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)


def breaks(raw: bytes) -> list[tuple[int, bytes]]:
    """The places of line breaks in an encoded text, and the characters of each break."""
    return [(found.start(), found[0]) for found in _BREAKS.finditer(raw)] if _BREAKS.search(raw) else []


def _to_base64(text: bytes, raw: bytes) -> bytes:
    made = binascii.b2a_base64(text, newline=False)
    if b"-" in raw or b"_" in raw:
        made = made.translate(_TO_URL_SAFE)
    gaps = breaks(raw)
    plain = len(raw) - sum(len(each) for _, each in gaps)
    if not raw.rstrip(b"\r\n \t").endswith(b"=") and plain % 4:
        made = made.rstrip(b"=")
    out = []
    at = gone = 0
    for broken, each in gaps:
        place = broken - gone
        out.append(made[at:place])
        out.append(each)
        at, gone = max(at, place), gone + len(each)
    return b"".join(out) + made[at:]


def _dumped(text: bytes, raw: bytes) -> bytes:
    """A dump of a text, in the lines of another dump; any excess goes into the last line."""
    out: list[bytes] = []
    at = 0
    for line in _DUMPED_LINE.finditer(raw):
        count = len(_PAIR.findall(line[2]))
        part = text[at:] if line.end() == len(raw) else text[at : at + count]
        at += len(part)
        pairs = [*(b"%02x" % byte for byte in part), *[b"00"] * (count - len(part))]
        digits = b"".join(gap + pair for gap, pair in zip([b"", *_PAIR.split(line[2])[1:-1]], pairs, strict=False))
        digits += b"".join(pairs[count:]) + _PAIR.split(line[2])[-1]
        shown = bytes(byte if 32 <= byte < 127 else 46 for byte in part)
        behind = line[3].rstrip(b"\r")
        if behind.strip().startswith(b"|") and len(behind.strip()) == count + 2:
            behind = behind[:-1]
        lead = behind[: max(0, len(behind) - count)]
        out += (line[1], digits, lead, shown, line[3][len(behind) :], line[4])
    return b"".join(out)


def _decompressed(raw: bytes, bits: int) -> bytes | None:
    work = zlib.decompressobj(bits)
    text = work.decompress(raw, ROOM + RATIO * len(raw))
    return None if work.unconsumed_tail or not work.eof or work.unused_data else text


def _compressed(text: bytes, raw: bytes, codec: str) -> bytes:
    if codec == ZLIB:
        return zlib.compress(text, 9)
    work = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = work.compress(text) + work.flush()
    head = raw[:3] + b"\0" + raw[4:_GZIP_HEAD]
    return head + body + struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)


# -- frames of an event stream -----------------------------------------------------------------------------------------


def framed(data: bytes, at: int = 0) -> tuple[int, int, int] | None:
    """The beginning and end of the payload, and the end, of the message of an AWS event stream that begins at ``at``.
    None if no message begins there, or it is incomplete."""
    if len(data) - at < _PRELUDE + 4:
        return None
    size, heads, check = struct.unpack_from(">III", data, at)
    if size < _PRELUDE + 4 + heads or at + size > len(data) or zlib.crc32(data[at : at + 8]) != check:
        return None
    return at + _PRELUDE + heads, at + size - 4, at + size


def summed(data: bytes) -> bytes:
    """The messages of an AWS event stream with correct checksums."""
    out = bytearray(data)
    at = 0
    while (found := framed(data, at)) is not None:
        end = found[2]
        out[end - 4 : end] = struct.pack(">I", zlib.crc32(data[at : end - 4]))
        at = end
    return bytes(out)
