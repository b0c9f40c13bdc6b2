"""Agents that talk over websockets."""
