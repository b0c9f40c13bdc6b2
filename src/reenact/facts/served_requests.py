"""An HTTP request that a program serves, and its response, as data: an ASGI scope becomes a call, and a call becomes a
scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import quote, unquote

from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.conventions import is_traceparent
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run

REQUEST_RULE: Final = "request/1"
"""The key rule of a request that came in, which compares its head. A replay sends the recorded request, so it always
agrees."""

RESPONSE_RULE: Final = "response/1"
"""The key rule of the response that went out, which compares status, headers and body. Another response is a
divergence."""

REQUEST: Final = "request"
"""Name of the event that holds the request: head, and the body as a stream."""

RELATION: Final = "request"
"""The relation of the run of a request to its parent, the run of the process."""

RESPONSE: Final = "response"
"""Name of the event that holds the response."""

LIFESPAN: Final = "lifespan"
"""Name of the events by which an application is told to start up and to shut down; each holds the message's type."""

GONE: Final = "disconnect"
"""Name of the event by which the program learnt that the exchange is over, or that its client is gone."""

ARRIVING: Final = frozenset({REQUEST, GONE, LIFESPAN})
"""Names of the input events that a server makes."""

KEPT: Final = 8 << 20
"""The number of bytes of a response body that are kept. Of the rest of a longer body, only a digest is kept."""

_FIRST_FAILURE: Final = 500

_REST: Final = ("http_version", "scheme", "root_path")


_SCHEME: Final = lazy_regex(r"[A-Za-z][A-Za-z0-9-]{0,15} ")


def preamble_of(run: Run) -> str:
    """Id of the run of the process that served a request; empty for any other run."""
    known = run.capture.get("preamble")
    return str(known.get("run") or "") if run.entry.kind == REQUEST and isinstance(known, Mapping) else ""


def arrives(call: Call) -> bool:
    """Whether a call is an event that came in to a server, such as a request. The program cannot make it again."""
    return call.kind is Kind.INPUT and call.name in ARRIVING


def failure_of(status: int | None) -> str:
    """Why the run of a request that was answered with ``status`` has failed; empty where it has not."""
    return f"answered with status {status}" if status is not None and status >= _FIRST_FAILURE else ""


def is_exchange(rule: str) -> bool:
    """Whether calls with this rule have the headers of a served HTTP message in their heads."""
    return rule in (REQUEST_RULE, RESPONSE_RULE)


def request_call(scope: Mapping[str, Any]) -> Call:
    """The request of an ASGI scope as a call. Its body is the stream that answers the call."""
    raw = scope.get("raw_path") or quote(str(scope.get("path", "/")), safe="/%:@!$&'()*+,;=~-._").encode()
    query = bytes(scope.get("query_string") or b"")
    url = bytes(raw).decode("latin-1") + ("?" + query.decode("latin-1") if query else "")
    head: dict[str, Json] = {
        "method": str(scope.get("method", "GET")),
        "url": url,
        "headers": pairs(scope.get("headers") or ()),
        **{name: str(scope[name]) for name in _REST if scope.get(name) is not None},
        "client": _address(scope.get("client")),
        "server": _address(scope.get("server")),
        "asgi": {str(name): str(value) for name, value in (scope.get("asgi") or {}).items()},
    }
    return Call(Kind.INPUT, REQUEST, Effect.READ, REQUEST_RULE, head)


def scope_of(head: Mapping[str, Json], headers: Iterable[Any], state: MutableMapping[str, Any]) -> dict[str, Any]:
    """The ASGI scope of a recorded request.

    Args:
        head: Head of the call that ``request_call`` made.
        headers: Header pairs, as they were stored with the body.
        state: State of the lifespan; the scope gets a copy.
    """
    path, _, query = str(head.get("url", "/")).partition("?")
    return {
        "type": "http",
        "asgi": dict(head.get("asgi") or {}),
        "http_version": head.get("http_version", "1.1"),
        "method": head.get("method", "GET"),
        "scheme": head.get("scheme", "http"),
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": head.get("root_path", ""),
        "headers": [(str(name).encode("latin-1"), str(value).encode("latin-1")) for name, value in headers],
        "client": _tuple(head.get("client")),
        "server": _tuple(head.get("server")),
        "state": dict(state),
    }


def scope_of_environ(environ: Mapping[str, object]) -> dict[str, Any]:
    """A WSGI environment as an ASGI scope. All other entries are left out, because they are not the request's: wsgiref
    adds all variables of the process."""
    headers = [
        (name[5:].replace("_", "-").lower(), str(value)) for name, value in environ.items() if name.startswith("HTTP_")
    ]
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers.append((name.replace("_", "-").lower(), str(environ[name])))
    root = str(environ.get("SCRIPT_NAME", ""))
    path = root + str(environ.get("PATH_INFO", ""))
    return {
        "type": "http",
        "method": environ.get("REQUEST_METHOD", "GET"),
        "path": path_of_environ(environ),
        "raw_path": quote(path.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=~-._").encode(),
        "query_string": str(environ.get("QUERY_STRING", "")).encode("latin-1", "replace"),
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers],
        "http_version": str(environ.get("SERVER_PROTOCOL", "HTTP/1.0")).removeprefix("HTTP/"),
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "root_path": root,
        "client": (environ.get("REMOTE_ADDR", ""), _number(environ.get("REMOTE_PORT"))),
        "server": (environ.get("SERVER_NAME", ""), _number(environ.get("SERVER_PORT"))),
    }


def path_of_environ(environ: Mapping[str, object]) -> str:
    """The path of a request as its client wrote it, decoded."""
    path = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    return path.encode("latin-1", "replace").decode("utf-8", "replace")


def environ_of(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The WSGI environment of a recorded request, without its streams, which the player adds."""
    root = str(scope.get("root_path") or "")
    path = str(scope["path"]).encode().decode("latin-1")
    server, client = scope.get("server") or ("", 0), scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": root,
        "PATH_INFO": path.removeprefix(root),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value.decode("latin-1")
    return environ


def _number(text: Any) -> int:
    return int(text) if str(text or "").isdigit() else 0


def pairs(headers: Iterable[Any]) -> list[list[str]]:
    """Header pairs of ASGI (bytes) as text, order and case kept."""
    return [[bytes(name).decode("latin-1"), bytes(value).decode("latin-1")] for name, value in headers]


def traceparent_of(scope: Mapping[str, Any]) -> str:
    """The W3C ``traceparent`` that came with a request; empty without a valid one."""
    for name, value in scope.get("headers") or ():
        if bytes(name).lower() == b"traceparent":
            text = bytes(value).decode("latin-1").strip()
            return text if is_traceparent(text) else ""
    return ""


def credentials_of(scope: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, list[str]]:
    """The headers of a request that contain the value of an environment variable: the header's name to the scheme and
    the variable.

    The values themselves are removed before anything is written; a replay of the request puts today's values there.

    Args:
        scope: The request.
        variables: The credentials of the environment, by name.
    """
    found: dict[str, list[str]] = {}
    for name, value in scope.get("headers") or ():
        text = bytes(value).decode("latin-1")
        scheme = _SCHEME.match(text)
        lead = scheme[0] if scheme is not None else ""
        for variable, secret in sorted(variables.items()):
            if secret and text[len(lead) :] == secret:
                found.setdefault(bytes(name).decode("latin-1"), [lead, variable])
    return found


def with_credentials(headers: Iterable[Any], known: Any, variables: Mapping[str, str]) -> list[list[str]]:
    """Header pairs with today's values where ``credentials_of`` has found a variable."""
    kept = known if isinstance(known, Mapping) else {}
    out = []
    for name, value in headers:
        lead, variable = kept.get(str(name)) or ("", "")
        today = variables.get(variable) if variable else None
        out.append([str(name), str(value) if today is None else f"{lead}{today}"])
    return out


def _address(address: object) -> Json:
    return [address[0], address[1]] if isinstance(address, (tuple, list)) and len(address) == 2 else None


def _tuple(address: Json) -> tuple[Any, ...] | None:
    return tuple(address) if isinstance(address, (list, tuple)) else None


class ServedResponse:
    """A response that is collected message by message while it is sent, and becomes a call at its end.

    Attributes:
        status: The status of the response; None before it began.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self._headers: list[list[str]] = []
        self._kept = bytearray()
        self._size = 0
        self._digest = blake2b(digest_size=16)
        self._others: list[str] = []
        self._whole = False

    def saw(self, message: Mapping[str, Any]) -> None:
        """Take in one ASGI message."""
        kind = message.get("type")
        if kind == "http.response.start":
            self.status = int(message["status"])
            self._headers = pairs(message.get("headers") or ())
        elif kind == "http.response.body":
            data = bytes(message.get("body") or b"")
            self._size += len(data)
            self._digest.update(data)
            self._kept += data[: max(0, KEPT - len(self._kept))]
            self._whole = not message.get("more_body", False)
        else:
            self._others.append(str(kind))

    def call(self) -> Call:
        """The response as a call: the program's message to its client."""
        head: dict[str, Json] = {"status": self.status, "headers": self._headers, "whole": self._whole}
        if self._size > KEPT:
            head |= {"size": self._size, "digest": self._digest.hexdigest()}
        if self._others:
            head["messages"] = self._others
        return Call(Kind.OUTPUT, RESPONSE, Effect.NONE, RESPONSE_RULE, head, bytes(self._kept), observed=True)
