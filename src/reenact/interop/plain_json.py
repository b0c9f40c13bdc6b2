"""Exchanges as plain JSON, and a script that runs a program against them without this project."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from reenact.interop.exchange_assembly import exchange
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import read_json

FORMAT: Final = "reenact-exchanges/1"

_PORTS: Final = {"http": 80, "https": 443}

_SCRIPT: Final = '''\
"""Runs a Python program against the recorded answers beside it, offline: python THIS.py agent.py [ARGUMENT...]"""
NOTE = "answers over HTTP are recorded ones; this script cannot freeze clock, chance, files or processes\\n"
import base64, http.server, json, os, pathlib, runpy, socket, ssl, sys, threading
left, missed = json.loads(pathlib.Path(__file__).with_name("@FILE@").read_text("utf-8"))["exchanges"], []
def content(side): return base64.b64decode(side["base64"]) if "base64" in side else side["text"].encode()
def plain(body): return json.loads(body) if body[:1] in (b"{", b"[") else body
class Recorded(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        while "chunked" in self.headers.get("Transfer-Encoding", "") and (size := int(self.rfile.readline(), 16)):
            body += self.rfile.read(size + 2)[:-2]
        asked = (self.command, self.headers["Host"], self.path, plain(body))
        for at, (request, response) in enumerate((each["request"], each["response"]) for each in left):
            if (request["method"], request["host"], request["target"], plain(content(request))) == asked: break
        else: return missed.append(asked) or self.send_error(502, "not recorded")
        del left[at]
        lines = [f"{k}: {v}" for k, v in response["headers"] if k.lower() not in ("transfer-encoding", "connection")]
        head = [f"HTTP/1.0 {response['status']} {response['reason']}", *lines]
        self.wfile.write("\\r\\n".join([*head, "", ""]).encode("latin-1") + content(response))
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
socket.getaddrinfo = lambda *a, **k: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", server.server_address)]
socket.socket.connect = lambda self, address, real=socket.socket.connect: real(self, server.server_address)
ssl.SSLContext.wrap_socket = lambda self, sock, *a, **k: sock
os.environ.update(NO_PROXY="*", no_proxy="*"); threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stderr.write(NOTE if sys.argv[1:] else sys.exit(__doc__))
sys.argv, sys.path[0] = sys.argv[1:], str(pathlib.Path(sys.argv[1]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
sys.exit(f"{len(missed)} not recorded: {missed[:3]}; {len(left)} not asked for" if missed or left else 0)
'''
"""A script of thirty lines, with the standard library alone. A document of exchanges has no reads of clock and chance,
so the script says at its head, and when it runs, that clock and chance are today's. Blocking clients are answered for
every scheme; clients of an event loop only for ``http:``, because their TLS does not pass through a socket."""


OURS: Final = _SCRIPT.partition("\n")[0]
"""The first line of each script, by which a script is recognised."""


def script(name: str) -> str:
    """The script that runs a program against a document.

    Args:
        name: The name of the document's file, which lies beside the script.
    """
    return _SCRIPT.replace('"@FILE@"', json.dumps(name))


def write(exchanges: Iterable[ImportedExchange], about: Mapping[str, Any]) -> bytes:
    """A document of exchanges.

    Args:
        exchanges: The exchanges, in order.
        about: Further facts (the run, the losses).
    """
    document = {"format": FORMAT, **about, "exchanges": [_written(each) for each in exchanges]}
    return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


def _written(exchange: ImportedExchange) -> dict[str, Any]:
    return {
        "at_us": exchange.at_us,
        "first_us": exchange.first_us,
        "ended_us": exchange.ended_us,
        "request": {
            "method": exchange.method,
            "url": exchange.url,
            **_parts(exchange.url),
            "headers": [list(pair) for pair in exchange.asked],
            **_body(exchange.body),
        },
        "response": {
            "status": exchange.status,
            "reason": exchange.reason,
            "version": exchange.version,
            "headers": [list(pair) for pair in exchange.headers],
            **_body(exchange.answer),
        },
    }


def _parts(url: str) -> dict[str, str]:
    """The parts of an address that a client sends: for its header ``Host``, and for its first line."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    if parts.port == _PORTS.get(parts.scheme):
        host = host.rpartition(":")[0]
    return {"host": host, "target": (parts.path or "/") + (f"?{parts.query}" if parts.query else "")}


def _body(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def read(data: bytes, only: str = "") -> ExchangesOfRun:
    """The exchanges of a document that ``write`` has made.

    Args:
        data: The file.
        only: Leave out exchanges whose address does not begin with this text.

    Raises:
        InteropError: The file is no such document, or an exchange cannot be read (it is named).
    """
    document = read_json(data)
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise refused(f"this is no document of the format {FORMAT}", "a file of another tool, or of a newer version")
    listed = document.get("exchanges")
    if not isinstance(listed, list):
        raise refused("exchanges is no list", "a damaged file")
    found = [_read(f"exchange {number}", each) for number, each in enumerate(listed)]
    kept = tuple(each for each in found if each.url.startswith(only))
    if not kept:
        raise refused("the file holds no exchange", "nothing was exported into it, or --only names another address")
    return ExchangesOfRun(FORMAT, kept, kept[0].at_us)


def _read(where: str, item: Any) -> ImportedExchange:
    try:
        asked, answered = item["request"], item["response"]
        at_us = item["at_us"]
        raw = ImportedExchange(
            method=asked["method"],
            url=asked["url"],
            asked=tuple((name, value) for name, value in asked["headers"]),
            body=_content(asked),
            status=int(answered["status"]),
            reason=str(answered["reason"]),
            headers=tuple((name, value) for name, value in answered["headers"]),
            answer=_content(answered),
            version=str(answered["version"]),
            at_us=None if at_us is None else int(at_us),
            first_us=max(0, int(item["first_us"])),
            ended_us=max(0, int(item["ended_us"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise refused(f"it cannot be read ({type(error).__name__}: {error})", "a damaged file", where=where) from None
    return exchange(where, raw, decoded=False)


def _content(side: Mapping[str, Any]) -> bytes:
    if "base64" in side:
        return base64.b64decode(side["base64"], validate=True)
    text: str = side["text"]
    return text.encode()
