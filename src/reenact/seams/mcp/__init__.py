"""MCP client sessions (the ``mcp`` package, version 2): requests, what the server begins, and the transports below.

The session answers, and nothing below it: while recording, the child process, the HTTP exchanges or the server in
memory run unrecorded; in a replay they do not run, and in a fork from the first request on that must go live
(``going_live``). A request is one call (kind ``mcp``; a tool is called by its own
name), each message that the server begins is one, and what the agent answers to it is compared. The agent's own
``ClientSession``, its parsing and its callbacks run in both.
"""

from __future__ import annotations

from reenact.seams.mcp import faults, sessions, transports
from reenact.seams.patching import when_imported


def install() -> None:
    """Hook the client as soon as the program imports it; imports none of it itself. Idempotent."""
    faults.install()
    when_imported("mcp.client.session", sessions.patch)
    when_imported("mcp.client.stdio", transports.patch_stdio)
    when_imported("mcp.client.streamable_http", transports.patch_streamable_http)
    when_imported("mcp.client.sse", transports.patch_sse)
    when_imported("mcp.client._memory", transports.patch_memory)
    when_imported("mcp.client.client", transports.patch_inprocess)
