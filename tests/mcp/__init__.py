"""Agents that use MCP servers."""
