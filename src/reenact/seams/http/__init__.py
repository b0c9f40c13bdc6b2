"""HTTP exchanges of every common client: httpx, httpx2, urllib3 (requests, botocore), aiohttp, http.client (urllib).

A family is loaded when the program has imported its client, together with the recognition of model calls. At that
moment files can be read, because a library is being imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from reenact.facts.late import late
from reenact.seams import patching
from reenact.seams.http import http_values

if TYPE_CHECKING:
    from reenact.seams.http.aiohttp_connectors import patch as patch_aiohttp
    from reenact.seams.http.httpx_clients import patch as patch_httpx
    from reenact.seams.http.outgoing_request import patch as patch_botocore
    from reenact.seams.http.stdlib_client import patch as patch_stdlib
    from reenact.seams.http.urllib3_pools import patch as patch_urllib3
else:
    patch_aiohttp = late("reenact.seams.http.aiohttp_connectors", "patch")
    patch_httpx = late("reenact.seams.http.httpx_clients", "patch")
    patch_botocore = late("reenact.seams.http.outgoing_request", "patch")
    patch_stdlib = late("reenact.seams.http.stdlib_client", "patch")
    patch_urllib3 = late("reenact.seams.http.urllib3_pools", "patch")

_PATCHES: Final[tuple[tuple[str, Callable[[ModuleType], None]], ...]] = (
    ("httpx", patch_httpx),
    ("httpx2", patch_httpx),
    ("urllib3.connectionpool", patch_urllib3),
    ("aiohttp.connector", patch_aiohttp),
    ("http.client", patch_stdlib),
    ("botocore.auth", patch_botocore),
)
"""The module that patches each awaited module."""


def install() -> None:
    """Intercept each client family as soon as the program imports it; imports none of them itself. Idempotent."""
    http_values.install()
    for name, patch in _PATCHES:
        patching.when_imported(name, patch)
        patching.when_imported(name, _load_readings)


def _load_readings(_module: ModuleType) -> None:
    """Load what reads model calls: later a program may have taken the files away."""
    import_module("reenact.facts.dialects")
