"""The scripted world of the canary: models improvise, and around them a vector store, an MCP server and a page."""

from __future__ import annotations

from typing import Any

from reenact.testing.provider import Reply, Route, Script, Visit

TOOL = {"name": "look", "description": "Look.", "inputSchema": {"type": "object", "properties": {}}}


def qdrant(visit: Visit) -> Any:
    """A vector store without collections."""
    if visit.path == "/":
        return {"title": "qdrant - vector search engine", "version": "1.15.0"}
    return {"result": {"collections": []}, "status": "ok", "time": 0.001}


def mcp(visit: Visit) -> Any:
    """A stateless MCP server with one tool."""
    if visit.method != "POST":
        return Reply(status=405)
    asked: Any = visit.body
    if "id" not in asked:
        return Reply(status=202)
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": (asked.get("params") or {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "fog"}], "isError": False},
    }
    if asked["method"] not in results:
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": asked["id"], "error": error}
    return {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}


SCRIPT = Script(
    routes=(
        Route("/page", {"page": "hello"}, method=""),
        Route("/", qdrant),
        Route("/collections", qdrant),
        Route("/mcp", mcp, method=""),
    )
)
