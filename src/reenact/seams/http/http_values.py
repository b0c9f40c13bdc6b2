"""Requests and responses of HTTP clients as values: what the errors of a tool carry with them.

``response.raise_for_status()`` in a tool raises an exception that holds the request and the response. Both are kept
as their visible parts (method, URL, headers, status, body read so far) and made again without a connection.
"""

from __future__ import annotations

import sys
from typing import Any

from reenact.facts.values import Codec, register_codec


def install() -> None:
    """Teach the codec of values the classes of httpx, requests, aiohttp and the standard library; imports none."""
    for module in ("httpx", "httpx2"):
        for home in (module, f"{module}._models"):
            register_codec(f"{home}.Request", Codec(_write_request, _read_httpx_request))
            register_codec(f"{home}.Response", Codec(_write_httpx_response, _read_httpx_response))
    for home in ("multidict", "multidict._multidict", "multidict._multidict_py"):
        register_codec(f"{home}.CIMultiDictProxy", Codec(_write_message, _read_proxy))
    for home in ("yarl", "yarl._url"):
        register_codec(f"{home}.URL", Codec(str, lambda cls, text: cls(text)))
    register_codec("aiohttp.client_reqrep.RequestInfo", Codec(list, lambda cls, parts: cls(*parts)))
    register_codec("http.client.HTTPMessage", Codec(_write_message, _read_message))
    register_codec("requests.models.PreparedRequest", Codec(_write_prepared, _read_prepared))
    register_codec("requests.models.Response", Codec(_write_requests_response, _read_requests_response))


# --- httpx, httpx2 -------------------------------------------------------------------------------------------------


def _write_request(request: Any) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": str(request.url),
        "headers": _raw(request.headers.raw),
        "body": bytes(getattr(request, "_content", b"")),
    }


def _read_httpx_request(cls: type[Any], data: dict[str, Any]) -> Any:
    return cls(data["method"], data["url"], headers=_bytes(data["headers"]), content=data["body"])


def _write_httpx_response(response: Any) -> dict[str, Any]:
    request = getattr(response, "_request", None)
    return {
        "status": response.status_code,
        "headers": _raw(response.headers.raw),
        "body": getattr(response, "_content", None),
        "extensions": {k: v for k, v in response.extensions.items() if isinstance(v, bytes)},
        "request": request,
    }


def _read_httpx_response(cls: type[Any], data: dict[str, Any]) -> Any:
    response = cls(data["status"], headers=_bytes(data["headers"]), extensions=data["extensions"])
    if data["body"] is not None:  # the body after decoding: headers that speak of encoding must not undo it again
        response._content = data["body"]
        response.is_closed = response.is_stream_consumed = True
    response._request = data["request"]
    return response


# --- requests ------------------------------------------------------------------------------------------------------


def _write_prepared(request: Any) -> dict[str, Any]:
    body = request.body
    return {
        "method": request.method,
        "url": request.url,
        "headers": dict(request.headers or {}),
        "body": body if isinstance(body, (bytes, str, type(None))) else None,
    }


def _read_prepared(cls: type[Any], data: dict[str, Any]) -> Any:
    request = cls()
    request.method = data["method"]
    request.url = data["url"]
    request.headers = _folded(data["headers"])
    request.body = data["body"]
    return request


def _write_requests_response(response: Any) -> dict[str, Any]:
    content = response._content
    return {
        "status": response.status_code,
        "reason": response.reason,
        "url": response.url,
        "encoding": response.encoding,
        "headers": dict(response.headers),
        "body": content if isinstance(content, bytes) else None,
        "request": response.request,
    }


def _read_requests_response(cls: type[Any], data: dict[str, Any]) -> Any:
    response = cls()
    response.status_code = data["status"]
    response.reason = data["reason"]
    response.url = data["url"]
    response.encoding = data["encoding"]
    response.headers = _folded(data["headers"])
    response.request = data["request"]
    if data["body"] is not None:
        response._content = data["body"]
        response._content_consumed = True
    return response


def _folded(headers: dict[str, str]) -> Any:
    """Headers in the mapping of requests, whose classes are loaded when there is something to read."""
    mapping = sys.modules["requests.structures"].CaseInsensitiveDict
    return mapping(headers)


# --- the standard library ------------------------------------------------------------------------------------------


def _write_message(message: Any) -> list[list[str]]:
    return [[str.__str__(name), str.__str__(value)] for name, value in message.items()]


def _read_message(cls: type[Any], data: list[list[str]]) -> Any:
    message = cls()
    for name, value in data:
        message[name] = value
    return message


def _read_proxy(cls: type[Any], data: list[list[str]]) -> Any:
    return cls(sys.modules["multidict"].CIMultiDict([(name, value) for name, value in data]))


def _raw(headers: Any) -> list[list[bytes]]:
    return [[bytes(name), bytes(value)] for name, value in headers]


def _bytes(headers: list[list[bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers]
