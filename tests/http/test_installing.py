"""Proves that the seams import no client library, follow late imports, and know one module under two names."""

from __future__ import annotations

import subprocess
import sys

CLIENTS = ["httpx", "httpx2", "urllib3", "requests", "aiohttp", "botocore", "http.client"]


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_is_imported() -> None:
    program = f"""
from reenact.seams import http
import sys
before = set(sys.modules)
http.install()
http.install()
print([name for name in {CLIENTS} if name in sys.modules])
"""
    assert run(program) == "[]"


def test_a_later_import_is_followed() -> None:
    program = """
from reenact.seams import http
http.install()
import httpx, httpx2, requests, aiohttp, urllib.request, http.client, urllib3.connectionpool
patched = [
    httpx.Client._transport_for_url, httpx.AsyncClient._transport_for_url,
    httpx2.Client._transport_for_url, httpx2.AsyncClient._transport_for_url,
    urllib3.connectionpool.HTTPConnectionPool._make_request, aiohttp.connector.BaseConnector.connect,
    http.client.HTTPConnection.getresponse,
]
print(all(hasattr(function, "__wrapped__") for function in patched))
"""
    assert run(program) == "True"


def test_one_module_under_two_names_is_patched_once() -> None:
    program = """
from reenact.seams import http
http.install()
import httpx2
httpx2.alias_httpx()
import httpx
function = httpx.Client._transport_for_url
print(httpx is httpx2, hasattr(function, "__wrapped__"), hasattr(function.__wrapped__, "__wrapped__"))
"""
    assert run(program) == "True True False"
