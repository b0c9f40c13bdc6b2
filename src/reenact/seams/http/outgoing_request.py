"""A request as it goes out: its headers fit a rewritten body, carry the run's trace where the policy says so, and are
signed for what is sent.

Clients that sign with botocore (its own, those of aiobotocore, Anthropic's for Bedrock) have signed before the seam,
where the request becomes a call. So each signature is remembered with its inputs. The seam signs the request that it
sends instead, with botocore's own signer and the real clock, since a provider refuses a signature of a recorded moment.
"""

from __future__ import annotations

import _thread
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from reenact.abc.session import Live
from reenact.facts.lazy_dataclass import dataclass
from reenact.seams import patching
from reenact.seams.lanes import listening

_LENGTH: Final = "content-length"
_HOST: Final = "host"
_CHECKSUMS: Final = ("content-md5", "digest", "content-digest", "x-amz-checksum-")
_SIGNED: Final = ("x-amz-content-sha256", "x-amz-signature")
_REMEMBERED: Final = 256
_Headers = Mapping[Any, Any] | None
"""The most signatures whose requests have not gone out yet, in all threads."""


class SignedRequest:
    """A request that botocore has signed.

    Args:
        request: The request, signed.
        unsigned: Its headers before it was signed.
        sign: Signs another request in the same way.
    """

    __slots__ = ("_request", "_sign", "_unsigned")

    def __init__(self, request: Any, unsigned: list[tuple[str, str]], sign: Callable[[Any], object]) -> None:
        self._request = request
        self._unsigned = unsigned
        self._sign = sign

    def again(self, url: str, body: bytes) -> dict[str, str]:
        """The headers of the request with another address and body, signed now.

        Args:
            url: Whole, or from its path on; with its query.
            body: The bytes of the body.
        """
        signed = self._request
        if "://" not in url:
            parts = urlsplit(signed.url)
            url = f"{parts.scheme}://{parts.netloc}{url}"
        other = type(signed)(signed.method, url, None, body, None, signed.auth_path, signed.stream_output)
        for name, value in self._unsigned:
            if name.lower() != _LENGTH:
                other.headers[name] = value
        other.context = dict(signed.context)
        self._sign(other)
        return {_text(name): _text(value) for name, value in other.headers.items()}


class _Memory:
    """The requests that have been signed last, by their signatures: a signer may work in a thread of its own."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._signed: OrderedDict[str, SignedRequest] = OrderedDict()

    def keep(self, authorization: str, signed: SignedRequest) -> None:
        with self._lock:
            self._signed[authorization] = signed
            if len(self._signed) > _REMEMBERED:
                self._signed.popitem(last=False)

    def of(self, authorization: str) -> SignedRequest | None:
        with self._lock:
            return self._signed.get(authorization)


_memory = _Memory()


def patch(module: ModuleType) -> None:
    """Remember what botocore signs."""
    patching.replace(module.SigV4Auth, "add_auth", _signing)


def _signing(original: Any) -> Any:
    def add_auth(self: Any, request: Any) -> Any:
        if listening() is None:
            return original(self, request)
        unsigned = list(request.headers.items())
        result = original(self, request)
        authorization = request.headers.get("Authorization")
        if authorization is not None:
            signed = SignedRequest(request, unsigned, lambda other: original(self, other))
            _memory.keep(_text(authorization), signed)
        return result

    return add_auth


def signer_of(headers: Iterable[Iterable[Any]]) -> SignedRequest | None:
    """The signer of a request, if it can sign it again.

    Args:
        headers: The headers of the request, ``[name, value]``.
    """
    authorization = next((_text(value) for name, value in headers if _text(name).lower() == "authorization"), "")
    return _memory.of(authorization) if authorization else None


def bound(headers: Iterable[Iterable[str]]) -> str:
    """The name of the header that ties a request to its body, so that no other body can be sent; empty without one.

    Args:
        headers: The headers of the request, ``[name, value]``.
    """
    pairs = [(name.lower(), value) for name, value in headers]
    for name, value in pairs:
        if name.startswith(_CHECKSUMS):
            return name
        signed = name in _SIGNED or (name == "authorization" and value.startswith("AWS4-"))
        if signed and signer_of(pairs) is None:
            return name
    return ""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """The request that is sent in place of the agent's.

    Attributes:
        url: The address: whole, or from its path on, as the client gave it.
        body: The body.
        signed: The headers that a signer made for the request, or that carry the trace. They replace the agent's own.
        host: Another host, with its port; empty for the same host.
    """

    url: str
    body: bytes
    signed: Mapping[str, str]
    host: str = ""

    def headers(self, headers: Any) -> Any:
        """A copy of the agent's headers, changed only as the other attributes require."""
        if headers is None:
            return None
        changed = headers.copy() if hasattr(headers, "copy") else dict(headers)
        left = {name.lower(): (name, value) for name, value in self.signed.items()}
        left[_LENGTH] = (_LENGTH, str(len(self.body)))
        if self.host:
            left[_HOST] = (_HOST, self.host)
        for name in list(changed):
            _, value = left.pop(_text(name).lower(), ("", None))
            if value is not None:
                changed[name] = value
        for name in (_LENGTH, _HOST):
            left.pop(name, None)
        for name, value in left.values():
            changed[name] = value
        return changed


def going_out(crossing: Live, url: str, headers: _Headers, body: bytes) -> OutgoingRequest | None:
    """The request that is sent in place of the agent's: rewritten, signed again, or with a trace; else None.

    Args:
        crossing: The exchange.
        url: The agent's address: whole, or from its path on if its connection cannot change.
        headers: The headers of the request.
        body: Its body.
    """
    instead = crossing.sends(url, body)
    if instead is None:
        added = crossing.adds()
        return OutgoingRequest(url, body, added) if added else None
    there, sent = instead
    host = urlsplit(there).netloc
    host = "" if host == urlsplit(url).netloc else host
    signer = signer_of(pairs_of(headers))
    if signer is None:
        return None if there is url and sent is body else OutgoingRequest(there, sent, {}, host)
    with crossing.enter():  # below the seam, where the clock is real
        return OutgoingRequest(there, sent, signer.again(there, sent), host)


def pairs_of(headers: _Headers) -> list[list[str]]:
    """Headers of a client as a call keeps them."""
    return [[_text(name), _text(value)] for name, value in (headers or {}).items()]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
