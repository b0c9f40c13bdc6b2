"""Places where credentials stand: how each is written down, recorded, and read again.

Reading again fails where the structure broke. What it gives is all the text that a reader of the place would see.
"""

from __future__ import annotations

import base64
import binascii
import configparser
import gzip
import json
import shlex
import tomllib
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape, quoteattr

from reenact.facts.record import CallIssued, OutputPrinted, Record, SegmentArrived
from tests.privacy.canaries import arrived, issued

Written = Callable[[str, str], bytes]
Read = Callable[[bytes], str]


@dataclass(frozen=True)
class Place:
    """One place.

    Attributes:
        name: What it is called.
        write: Writes a credential under a name.
        read: Reads all there is.
        over: How it travels: ``request``, ``response``, ``events`` (a response that comes event by event), ``printed``,
            ``headers``.
        media: Its media type.
        named: Whether only what has a name of its own belongs here.
        unnamed: Whether there is no room for a name here.
        without: Characters that cannot stand here as they are.
    """

    name: str
    write: Written
    read: Read
    over: str = "request"
    media: str = "application/json"
    named: bool = False
    unnamed: bool = False
    without: str = ""
    headers: bool = False

    def holds(self, field: str, secret: str) -> bool:
        """Whether a credential can stand here."""
        return not any(each in secret or each in field for each in self.without)

    def records(self, field: str, secret: str) -> list[Record]:
        """The records of it."""
        data = self.write(field, secret)
        head = [("content-type", self.media)]
        if self.over == "request":
            return [issued(data, headers=head)]
        if self.over == "headers":
            return [issued(url="https://h.example/v1", headers=json.loads(data))]
        if self.over == "url":
            return [issued(url=data.decode())]
        if self.over == "printed":
            half = len(data) // 2
            return [OutputPrinted(1, 0, data[:half]), OutputPrinted(1, 1, data[half:])]
        pieces = data.split(CUT) if self.over == "events" else [data]
        return [arrived(head), *(SegmentArrived(0, n, piece) for n, piece in enumerate(pieces))]


def body(records: Iterable[Record]) -> bytes:
    """What was kept of the bytes that matter."""
    out = b""
    for record in records:
        if isinstance(record, (SegmentArrived, OutputPrinted)):
            out += record.data
        elif isinstance(record, CallIssued):
            call = record.call
            if call.body:
                out += call.body
            elif call.head["url"] != "https://h.example/v1":
                out += str(call.head["url"]).encode()
            else:
                out += json.dumps(call.head["headers"]).encode()
    return out


def segments(records: Iterable[Record]) -> list[bytes]:
    """The segments of an answer, one by one."""
    return [record.data for record in records if isinstance(record, SegmentArrived)]


def in_segments(head: Record, data: bytes, size: int) -> list[Record]:
    """An answer that arrives in segments of one length."""
    return [head, *(SegmentArrived(0, at, data[at : at + size]) for at in range(0, len(data), size))]


def read_text(data: bytes) -> str:
    return data.decode()


def read_json(data: bytes) -> str:
    return every_text(json.loads(data))


def every_text(value: object) -> str:
    """Every text in a value, and of those that are JSON, what is in them."""
    if isinstance(value, dict):
        return " ".join(f"{name} {every_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return " ".join(map(every_text, value))
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return every_text(json.loads(value))
        except ValueError:
            return value
    return str(value)


def text_of(form: str) -> Written:
    return lambda field, secret: form.replace("NAME", field).replace("VALUE", secret).encode()


def _message(form: str) -> Written:
    """The text as a message to a model."""
    return lambda field, secret: json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": form.replace("NAME", field).replace("VALUE", secret)}]}
    ).encode()


def in_json(value: Callable[[str, str], object], indent: int | None = None) -> Written:
    return lambda field, secret: json.dumps(value(field, secret), indent=indent).encode()


def _form(data: bytes) -> str:
    return " ".join(f"{name} {value}" for name, value in parse_qsl(data.decode(), strict_parsing=True))


def _pair_json(field: str, secret: str) -> str:
    return json.dumps({"user": "app", field: secret, "n": 1})


def in_base64(field: str, secret: str) -> str:
    return base64.b64encode(_pair_json(field, secret).encode()).decode()


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape")


def _every_escape(text: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in text)


CUT = b"\0\0CUT\0\0"
"""Where one segment of what arrives in events ends."""


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# -- documents ---------------------------------------------------------------------------------------------------------


def _multipart(data: bytes) -> str:
    parts = data.split(b"--bnd71")
    assert parts[-1] == b"--\r\n" and all(b"\r\n\r\n" in part for part in parts[1:-1])
    return data.decode()


def _ini(data: bytes) -> str:
    read = configparser.RawConfigParser()
    read.read_string(data.decode())
    return every_text({name: dict(read[name]) for name in read.sections()})


def _xml(data: bytes) -> str:
    return " ".join(
        " ".join([element.text or "", *element.attrib.values()]) for element in ET.fromstring(data.decode()).iter()
    )


def _netrc(field: str, secret: str) -> bytes:
    return f"machine api.example.com\n  login ann\n  password {secret}\nmachine b.example.com login x\n".encode()


def _basic(secret: str) -> str:
    return base64.b64encode(f"ann:{secret}".encode()).decode()


def _docker(field: str, secret: str) -> bytes:
    return json.dumps({"auths": {"registry.example.com": {"auth": _basic(secret), "email": "a@example.com"}}}).encode()


def _read_docker(data: bytes) -> str:
    auth = json.loads(data)["auths"]["registry.example.com"]["auth"]
    return auth if "~" in auth else base64.b64decode(auth).decode()


def _read_kubernetes(data: bytes) -> str:
    value = data.decode().split("\n")[2].partition(": ")[2]
    return value if "~" in value else base64.b64decode(value).decode()


def _pem(field: str, secret: str) -> bytes:
    lines = "\n".join(pieces(base64.b64encode(secret.encode() * 12).decode(), 64))
    return json.dumps(
        {"content": f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n"}
    ).encode()


def _read_pem(data: bytes) -> str:
    text: str = json.loads(data)["content"]
    inner = text.split("-----")[2]
    if "~" in inner:
        return text
    return base64.b64decode(inner).decode()


def _wrapped(field: str, secret: str) -> bytes:
    text = base64.encodebytes((_pair_json(field, secret) + " and more of it " * 8).encode()).decode()
    return json.dumps({"file": text}).encode()


def _zipped(field: str, secret: str) -> bytes:
    data = gzip.compress(_pair_json(field, secret).encode(), mtime=0)
    return json.dumps({"blob": base64.b64encode(data).decode()}).encode()


def _cookies(field: str, secret: str) -> bytes:
    return json.dumps([["Cookie", f"theme=dark; sid={secret}; lang=en; {field}={secret}"]]).encode()


_PART = '--bnd71\r\nContent-Disposition: form-data; name="NAME"'
_LOG = "2026-01-01 10:00:00,123 INFO app.db connecting user=app NAME=VALUE host=db retries=3"
_ENV = "HOST=db\nNAME=VALUE\nPORT=5432\n"
_TRACE = (
    'Traceback (most recent call last):\n  File "/srv/app.py", line 9, in <module>\n    connect(cfg)\n'
    "ConnectionError: could not log in with NAME='VALUE' at db.example.com:5432"
)
_NOT_IN_URL = "/?#[]@%&=+"
_BARE = ",;&#"

DOCUMENTS = (
    # JSON
    Place("a JSON field", in_json(lambda n, v: {"a": 1, n: v, "b": [2]}), read_json),
    Place("pretty JSON", in_json(lambda n, v: {"a": {n: v}}, indent=2), read_json),
    Place("JSON in JSON", in_json(lambda n, v: {"arguments": json.dumps({n: v})}), read_json),
    Place("JSON in JSON in JSON", in_json(lambda n, v: {"a": json.dumps({"b": json.dumps({n: v})})}), read_json),
    Place("an environment as pairs", in_json(lambda n, v: {"env": [{"name": n, "value": v}]}), read_json),
    Place("pairs the other way round", in_json(lambda n, v: {"env": [{"value": v, "name": n}]}), read_json),
    Place("pairs by key", in_json(lambda n, v: {"Environment": [{"Key": n, "Value": v}]}), read_json),
    Place("a list of two", in_json(lambda n, v: {"headers": [["accept", "*/*"], [n, v]]}), read_json),
    Place("arguments as a list", in_json(lambda n, v: {"argv": ["tool", f"--{n}", v, "--port", "1"]}), read_json),
    Place("arguments with =", in_json(lambda n, v: {"argv": ["tool", f"--{n}={v}"]}), read_json),
    Place("environment lines in JSON", in_json(lambda n, v: {"env": ["HOME=/root", f"{n}={v}"]}), read_json),
    Place("escapes", lambda n, v: f'{{"{n}": "{_every_escape(v)}", "n": 1}}'.encode(), read_json),
    Place("escaped names", lambda n, v: f'{{"{_every_escape(n)}": "{_every_escape(v)}"}}'.encode(), read_json),
    Place(
        "escapes in a text",
        lambda n, v: f'{{"t": "it is {n}\\u003d{v}\\u0026n\\u003d1"}}'.encode(),
        read_json,
        without="&#,;",
    ),
    Place(
        "JSON spelled with escaped quotes",
        lambda n, v: json.dumps({"a": json.dumps({n: v})}).replace('\\"', "\\u0022").encode(),
        read_json,
    ),
    Place(
        "a URL in JSON",
        in_json(lambda n, v: {"url": f"https://h.example/cb?a=1&{n}={quote(v, safe='')}&b=2"}),
        lambda d: " ".join(v for _, v in parse_qsl(urlsplit(json.loads(d)["url"]).query)),
    ),
    Place(
        "JSON in a URL",
        in_json(lambda n, v: {"url": "https://h.example/?q=" + quote(json.dumps({n: v}), safe="")}),
        lambda d: every_text(parse_qsl(urlsplit(json.loads(d)["url"]).query)[0][1]),
    ),
    # encodings
    Place(
        "base64 of JSON",
        in_json(lambda n, v: {"data": in_base64(n, v)}),
        lambda d: read_json(base64.b64decode(json.loads(d)["data"], validate=True)),
    ),
    Place(
        "URL-safe base64 of JSON",
        in_json(lambda n, v: {"state": base64.urlsafe_b64encode(_pair_json(n, v).encode()).decode().rstrip("=")}),
        lambda d: read_json(base64.urlsafe_b64decode(json.loads(d)["state"] + "===")),
    ),
    Place("wrapped base64", _wrapped, lambda d: base64.b64decode(json.loads(d)["file"]).decode()),
    Place(
        "base64 twice",
        in_json(lambda n, v: {"d": base64.b64encode(in_base64(n, v).encode()).decode()}),
        lambda d: read_json(base64.b64decode(base64.b64decode(json.loads(d)["d"], validate=True), validate=True)),
    ),
    Place(
        "base64 in a command",
        lambda n, v: json.dumps({"command": f"echo {in_base64(n, v)} | base64 -d"}).encode(),
        lambda d: read_json(base64.b64decode(json.loads(d)["command"].split()[1], validate=True)),
    ),
    Place(
        "a data URL",
        lambda n, v: json.dumps({"u": f"data:application/json;base64,{in_base64(n, v)}"}).encode(),
        lambda d: read_json(base64.b64decode(json.loads(d)["u"].partition(",")[2], validate=True)),
    ),
    Place(
        "hexadecimal of JSON",
        in_json(lambda n, v: {"data": _pair_json(n, v).encode().hex()}),
        lambda d: read_json(binascii.unhexlify(json.loads(d)["data"])),
    ),
    Place(
        "gzip in base64",
        _zipped,
        lambda d: read_json(gzip.decompress(base64.b64decode(json.loads(d)["blob"], validate=True))),
    ),
    Place(
        "deflate in base64",
        in_json(lambda n, v: {"z": base64.b64encode(zlib.compress(_pair_json(n, v).encode())).decode()}),
        lambda d: read_json(zlib.decompress(base64.b64decode(json.loads(d)["z"], validate=True))),
    ),
    Place(
        "UTF-16",
        lambda n, v: ("\ufeff" + json.dumps({n: v})).encode("utf-16-le"),
        lambda d: every_text(json.loads(d.decode("utf-16-le").lstrip("\ufeff"))),
    ),
    Place(
        "UTF-16 in base64",
        lambda n, v: json.dumps(
            {"EncodedCommand": base64.b64encode(f"$x = '1'; $env:{n}='{v}'".encode("utf-16-le")).decode()}
        ).encode(),
        lambda d: base64.b64decode(json.loads(d)["EncodedCommand"], validate=True).decode("utf-16-le"),
    ),
    Place(
        "a gzip file",
        lambda n, v: gzip.compress(_pair_json(n, v).encode(), mtime=0),
        lambda d: read_json(gzip.decompress(d)),
        media="application/gzip",
    ),
    Place(
        "quoted twice",
        in_json(
            lambda n, v: {
                "next": "https://h.example/login?to="
                + quote(quote(f"https://i.example/?{n}={v}&x=1", safe=""), safe="")
            }
        ),
        lambda d: unquote(unquote(json.loads(d)["next"])),
        without="&#",
    ),
    # HTTP
    Place(
        "a header", lambda n, v: json.dumps([["accept", "*/*"], [n, v]]).encode(), read_json, over="headers", named=True
    ),
    Place("cookies", _cookies, read_json, over="headers", without=";,"),
    Place(
        "a query",
        lambda n, v: f"https://h.example/v1/x?a=1&{n}={quote(v, safe='')}&b=2".encode(),
        lambda d: _form(urlsplit(d.decode()).query.encode()),
        over="url",
    ),
    Place(
        "a URL's path",
        lambda n, v: f"https://h.example/v1/hook/{v}/send".encode(),
        read_text,
        over="url",
        unnamed=True,
        without="/",
    ),
    Place(
        "a URL's user part", lambda n, v: f"https://ann:{quote(v, safe='')}@h.example/x".encode(), read_text, over="url"
    ),
    Place(
        "a form",
        lambda n, v: f"a=1&{n}={quote(v, safe='')}&b=2".encode(),
        _form,
        media="application/x-www-form-urlencoded",
    ),
    Place("a form of no type", lambda n, v: f"grant=x&{n}={quote(v, safe='')}&b=2".encode(), _form, media="text/plain"),
    Place(
        "multipart",
        text_of(
            '--bnd71\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
            + _PART
            + "\r\n\r\nVALUE\r\n--bnd71--\r\n"
        ),
        _multipart,
        media="multipart/form-data; boundary=bnd71",
    ),
    Place(
        "multipart, typed",
        text_of(_PART + "\r\nContent-Type: text/plain\r\n\r\nVALUE\r\n--bnd71--\r\n"),
        _multipart,
        media="multipart/form-data; boundary=bnd71",
    ),
    # files and lines
    Place("an environment file", text_of(_ENV), read_text, media="text/plain"),
    Place("an environment file in a message", _message("# .env\nHOST=db\nexport NAME=VALUE\nPORT=1\n"), read_json),
    Place("a quoted environment line", _message("NAME='VALUE'\nexport A=\"b\"\n"), read_json),
    Place("netrc", _netrc, read_text, media="text/plain", without="&"),
    Place("netrc in a message", _message("machine h.example login ann password VALUE\n"), read_json),
    Place("docker's configuration", _docker, _read_docker),
    Place(
        "docker's configuration in a message",
        lambda n, v: json.dumps({"content": _docker(n, v).decode()}).encode(),
        lambda d: _read_docker(json.loads(d)["content"].encode()),
    ),
    Place(
        "YAML",
        text_of("users:\n- name: ann\n  user:\n    NAME: VALUE\n    other: 1\n"),
        read_text,
        media="application/yaml",
        without="#,&",
    ),
    Place("YAML in a message", _message('users:\n- name: ann\n  user:\n    NAME: "VALUE"\n'), read_json),
    Place(
        "an environment in YAML",
        text_of("env:\n- name: NAME\n  value: VALUE\n- name: B\n  value: c\n"),
        read_text,
        media="application/yaml",
    ),
    Place(
        "kubernetes' secret",
        lambda n, v: f"kind: Secret\ndata:\n  {n}: {base64.b64encode(v.encode()).decode()}\ntype: Opaque\n".encode(),
        _read_kubernetes,
        media="application/yaml",
    ),
    Place("INI", text_of("[db]\nhost = h\nNAME = VALUE\n"), _ini, media="text/plain"),
    Place(
        "TOML",
        text_of('[db]\nhost = "h"\nNAME = "VALUE"\n'),
        lambda d: every_text(tomllib.loads(d.decode())),
        media="text/plain",
    ),
    Place("Java properties", text_of("db.host=h\ndb.NAME=VALUE\n"), read_text, media="text/plain"),
    Place(
        "an XML element",
        lambda n, v: f"<c><host>h</host><{n}>{escape(v)}</{n}></c>".encode(),
        _xml,
        media="application/xml",
    ),
    Place(
        "an XML element with attributes",
        lambda n, v: f'<c><s:{n} xmlns:s="urn:s" type="x">{escape(v)}</s:{n}></c>'.encode(),
        _xml,
        media="application/xml",
    ),
    Place(
        "an XML attribute",
        lambda n, v: f'<c><db host="h" {n}={quoteattr(v)} port="1"/></c>'.encode(),
        _xml,
        media="application/xml",
    ),
    Place(
        "XML pairs",
        lambda n, v: f'<c><add key="{n}" value={quoteattr(v)}/></c>'.encode(),
        _xml,
        media="application/xml",
    ),
    Place(
        "an XML property",
        lambda n, v: f'<c><property name="{n}">{escape(v)}</property></c>'.encode(),
        _xml,
        media="application/xml",
    ),
    Place(
        "XML in a message",
        lambda n, v: json.dumps({"t": f"<c>\n<{n}>{escape(v)}</{n}>\n</c>"}).encode(),
        lambda d: _xml(json.loads(d)["t"].encode()),
    ),
    # Python
    Place("repr of a dictionary", _message("{'host': 'h', 'NAME': 'VALUE', 'n': 1}"), read_json),
    Place("repr of bytes", _message("{b'NAME': b'VALUE'}"), read_json),
    Place("repr of headers", _message("[(b'accept', b'*/*'), (b'NAME', b'VALUE')]"), read_json),
    Place("repr of pairs", _message("[('a', 1), ('NAME', 'VALUE')]"), read_json),
    Place("repr of a dataclass", _message("Config(host='h', NAME='VALUE', port=1)"), read_json, without="-"),
    Place("repr, printed", text_of("{'host': 'h', 'NAME': 'VALUE'}\n"), read_text, over="printed"),
    Place("a traceback", _message(_TRACE), read_json, without="-"),
    Place("an assignment", _message("NAME = 'VALUE'\nconnect(NAME)"), read_json, without="-"),
    # lines
    Place("a log line", text_of(_LOG + "\n"), read_text, over="printed"),
    Place(
        "a log line with a colon",
        text_of("10:00 DEBUG settings NAME: VALUE\n"),
        read_text,
        over="printed",
        without="&#",
    ),
    Place("a log line with commas", text_of("login(user=app, NAME=VALUE, host=db)\n"), read_text, over="printed"),
    Place("coloured text", text_of("\x1b[1m\x1b[34mNAME\x1b[0m=\x1b[1;32mVALUE\x1b[0m\n"), read_text, over="printed"),
    Place("coloured text in JSON", _message("\x1b[1mNAME\x1b[0m: \x1b[32mVALUE\x1b[0m\r\nok"), read_json, without="&#"),
    Place("a coloured value", text_of("using \x1b[1mVALUE\x1b[0m now\n"), read_text, over="printed", unnamed=True),
    Place(
        "a command", lambda n, v: json.dumps({"command": f"tool --{n} {shlex.quote(v)} --port 1"}).encode(), read_json
    ),
    Place(
        "a command with =",
        lambda n, v: json.dumps({"command": f"tool --{n}={shlex.quote(v)} --port 1"}).encode(),
        read_json,
    ),
    Place(
        "curl -u",
        lambda n, v: json.dumps({"command": f"curl -u {shlex.quote('ann:' + v)} https://h.example"}).encode(),
        read_json,
    ),
    Place(
        "curl -H",
        lambda n, v: json.dumps({"command": f"curl -H {shlex.quote(n + ': ' + v)} https://h.example"}).encode(),
        read_json,
        named=True,
    ),
    Place(
        "curl --user, listed",
        in_json(lambda n, v: {"argv": ["curl", "--user", "ann:" + v, "https://h.example"]}),
        read_json,
    ),
    Place(
        "mysql -p", lambda n, v: json.dumps({"command": f"mysql -u root -p{shlex.quote(v)} shop"}).encode(), read_json
    ),
    Place(
        "sshpass", lambda n, v: json.dumps({"command": f"sshpass -p {shlex.quote(v)} ssh ann@h"}).encode(), read_json
    ),
    Place(
        "a variable before a command",
        lambda n, v: json.dumps({"command": f"{n}={shlex.quote(v)} psql -h db shop"}).encode(),
        read_json,
        without="-",
    ),
    Place("Bearer", _message("send Authorization: Bearer VALUE with it"), read_json, unnamed=True),
    Place(
        "cookies in a text",
        _message("GET / HTTP/1.1\r\nHost: h\r\nCookie: theme=dark; sid=VALUE; lang=en\r\n\r\n"),
        read_json,
        without=";,",
    ),
    Place(
        "cookies in a field",
        in_json(lambda n, v: {"headers": {"cookie": f"theme=dark; lang=en; sid={v}"}}),
        read_json,
        without=";,",
    ),
    Place(
        "a data source",
        _message("postgresql://app:VALUE@db.example.com:5432/shop?sslmode=require"),
        read_json,
        without="/?#[]@%",
    ),
    Place("a data source of words", _message("host=db user=app NAME=VALUE dbname=shop"), read_json),
    Place(
        "a connection string",
        _message("Server=tcp:db,1433;User ID=app;Password=VALUE;Encrypt=True;"),
        read_json,
        without=";",
    ),
    Place("JDBC", _message("jdbc:mysql://db:3306/shop?user=app&NAME=VALUE&useSSL=true"), read_json, without="&#"),
    Place("SQL", _message("CREATE USER app WITH PASSWORD 'VALUE'; ALTER USER b IDENTIFIED BY 'VALUE';"), read_json),
    Place("a private key", _pem, _read_pem),
    Place("markdown", _message("- **NAME**: `VALUE`\n- port: 1"), read_json),
    Place("a table", _message("| NAME | VALUE |\n|---|---|\n| port | 1 |"), read_json),
    Place("prose", _message("Hello, use VALUE to log in, please."), read_json, unnamed=True),
    Place("printed prose", text_of("the key VALUE was used\n"), read_text, over="printed", unnamed=True),
)
