"""Requests that the program serves: each is a run of its own, both in a recording and in its replay.

A session belongs to a request, never to the server: the server's loop, connections and timers have no session. The
application's start-up (imports, ``lifespan``) belongs to the run of the process, which is the *preamble* of every
request. A recording or a replay sets a host (``hosting``); without one a server runs as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams.patching import when_imported

if TYPE_CHECKING:
    from reenact.seams.servers.uvicorn_hooks import patch_config, patch_server
    from reenact.seams.servers.wsgi import patch_werkzeug, patch_wsgiref
else:
    patch_config = late("reenact.seams.servers.uvicorn_hooks", "patch_config")
    patch_server = late("reenact.seams.servers.uvicorn_hooks", "patch_server")
    patch_werkzeug = late("reenact.seams.servers.wsgi", "patch_werkzeug")
    patch_wsgiref = late("reenact.seams.servers.wsgi", "patch_wsgiref")


def install() -> None:
    """Hook each server as soon as the program imports it; imports none of them itself."""
    when_imported("uvicorn.config", patch_config)
    when_imported("uvicorn.server", patch_server)
    when_imported("wsgiref.simple_server", patch_wsgiref)
    when_imported("werkzeug.serving", patch_werkzeug)
