"""Requests that the program serves: each is a run of its own, in a recording and in its replay.

A session belongs to a request, never to the server: its own loop, its connections and its timers are nobody's, the
application's start-up (imports, ``lifespan``) belongs to the run of the process, which is the *preamble* of every
request. Who records or replays appoints a host (``hosting``); without one a server runs as always.
"""

from __future__ import annotations

from reenact.seams.patching import when_imported
from reenact.seams.servers import uvicorn_hooks, wsgi


def install() -> None:
    """Hook each server as soon as the program imports it; imports none of them itself."""
    when_imported("uvicorn.config", uvicorn_hooks.patch_config)
    when_imported("uvicorn.server", uvicorn_hooks.patch_server)
    when_imported("wsgiref.simple_server", wsgi.patch_wsgiref)
    when_imported("werkzeug.serving", wsgi.patch_werkzeug)
