"""A shop over MCP on standard input and output."""

from mcp.server import MCPServer

app = MCPServer("shop")


@app.tool()
def find_order(order_id: str, fields: list[str] | None = None) -> str:
    """One order."""
    return f"order {order_id}: an espresso machine"


app.run()
