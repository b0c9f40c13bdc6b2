"""A request as it goes out: its headers follow a body that a fork has rewritten, and a signer signs what is sent.

botocore signs a request before it hands it to urllib3, whose seam is where the request becomes a call. So each
signature is remembered with what it was made from: the seam signs again what it sends in the request's place, by
botocore's own signer and the real clock, since a provider refuses a signature of a recorded moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Final

from reenact.seams import patching
from reenact.seams.lanes import listening

TRIGGERS: tuple[str, ...] = ("botocore.signers",)

_LENGTH: Final = "content-length"
_CHECKSUMS: Final = ("content-md5", "digest", "content-digest", "x-amz-checksum-")
_SIGNED: Final = ("x-amz-content-sha256", "x-amz-signature")


class _Last(threading.local):
    """The last request that each thread has signed."""

    signed: Signed | None = None


_last = _Last()


class Signed:
    """A request that botocore has signed.

    Args:
        request: The request, signed.
        unsigned: Its headers before.
        sign: Signs another request in the same way.
    """

    __slots__ = ("_request", "_sign", "_unsigned")

    def __init__(self, request: Any, unsigned: list[tuple[str, str]], sign: Callable[[Any], object]) -> None:
        self._request = request
        self._unsigned = unsigned
        self._sign = sign

    def is_of(self, authorization: str) -> bool:
        """Whether this is where an authorization comes from."""
        return bool(authorization) and str(self._request.headers.get("Authorization", "")) == authorization

    def again(self, body: bytes) -> Any:
        """The headers of the request with another body, signed now."""
        signed = self._request
        other = type(signed)(
            signed.method, signed.url, None, body, signed.params, signed.auth_path, signed.stream_output
        )
        for name, value in self._unsigned:
            if name.lower() != _LENGTH:
                other.headers[name] = value
        other.context = dict(signed.context)
        self._sign(other)
        return other.prepare().headers


def patch(module: ModuleType) -> None:
    """Remember what botocore signs."""
    patching.replace(module.RequestSigner, "sign", _signing)


def _signing(original: Any) -> Any:
    def sign(self: Any, operation_name: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return original(self, operation_name, request, *args, **kwargs)
        unsigned = list(request.headers.items())
        result = original(self, operation_name, request, *args, **kwargs)
        _last.signed = Signed(request, unsigned, lambda other: original(self, operation_name, other, *args, **kwargs))
        return result

    return sign


def signer_of(headers: Iterable[Iterable[Any]]) -> Signed | None:
    """What signed the request that the calling thread sends, if it can sign it again."""
    signed = _last.signed
    authorization = next((_text(value) for name, value in headers if _text(name).lower() == "authorization"), "")
    return signed if signed is not None and signed.is_of(authorization) else None


def bound(headers: Iterable[Iterable[str]]) -> str:
    """The header that binds a request to its body, so that no other one can be sent with it; empty where none does.

    Args:
        headers: Of the request, ``[name, value]``.
    """
    pairs = [(name.lower(), value) for name, value in headers]
    for name, value in pairs:
        if name.startswith(_CHECKSUMS):
            return name
        signed = name in _SIGNED or (name == "authorization" and value.startswith("AWS4-"))
        if signed and signer_of(pairs) is None:
            return name
    return ""


def following(headers: Any, body: bytes) -> Any:
    """Headers for a body that is sent in place of the agent's: the length follows, everything else stays."""
    if headers is None:
        return None
    changed = headers.copy() if hasattr(headers, "copy") else dict(headers)
    for name in list(changed):
        if _text(name).lower() == _LENGTH:
            changed[name] = str(len(body))
    return changed


def pairs_of(headers: Mapping[Any, Any] | None) -> list[list[str]]:
    """Headers of a client as a call keeps them."""
    return [[_text(name), _text(value)] for name, value in (headers or {}).items()]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
