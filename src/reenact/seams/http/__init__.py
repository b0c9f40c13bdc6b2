"""HTTP exchanges of every common client: httpx, httpx2, urllib3 (requests, botocore), aiohttp, http.client (urllib)."""

from __future__ import annotations

from reenact.seams import patching
from reenact.seams.http import aiohttp_connectors, httpx_clients, outgoing, stdlib_client, urllib3_pools, values

_FAMILIES = (httpx_clients, urllib3_pools, aiohttp_connectors, stdlib_client, outgoing)


def install() -> None:
    """Intercept each client family as soon as the program imports it; imports none of them itself. Idempotent."""
    values.install()
    for family in _FAMILIES:
        for name in family.TRIGGERS:
            patching.when_imported(name, family.patch)
