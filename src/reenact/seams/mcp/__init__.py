"""MCP client sessions (the ``mcp`` package, version 2): requests, what the server begins, and the transports below.

Calls are answered at the session. While recording, the parts below it (the child process, the HTTP exchanges or the
server in memory) run unrecorded. In a replay they run only from the first live request on (``going_live``). A request
is one call (kind ``mcp``; the call of a tool has the tool's name). Each message that the server begins is a call too,
and the agent's answer to it is compared. The agent's own ``ClientSession``, its parsing and its callbacks run both
while recording and in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams.mcp import parse_errors
from reenact.seams.patching import when_imported

if TYPE_CHECKING:
    from reenact.seams.mcp.sessions import patch as patch_sessions
    from reenact.seams.mcp.transports import (
        patch_inprocess,
        patch_memory,
        patch_sse,
        patch_stdio,
        patch_streamable_http,
    )
else:
    patch_sessions = late("reenact.seams.mcp.sessions", "patch")
    patch_inprocess = late("reenact.seams.mcp.transports", "patch_inprocess")
    patch_memory = late("reenact.seams.mcp.transports", "patch_memory")
    patch_sse = late("reenact.seams.mcp.transports", "patch_sse")
    patch_stdio = late("reenact.seams.mcp.transports", "patch_stdio")
    patch_streamable_http = late("reenact.seams.mcp.transports", "patch_streamable_http")


def install() -> None:
    """Hook the client as soon as the program imports it; imports none of it itself. Idempotent."""
    parse_errors.install()
    when_imported("mcp.client.session", patch_sessions)
    when_imported("mcp.client.stdio", patch_stdio)
    when_imported("mcp.client.streamable_http", patch_streamable_http)
    when_imported("mcp.client.sse", patch_sse)
    when_imported("mcp.client._memory", patch_memory)
    when_imported("mcp.client.client", patch_inprocess)
