"""Paths of lanes: a strand stands behind a slash, and a scope (the inside of a call) behind ``>``."""

from __future__ import annotations


def parent_path(path: str) -> tuple[str, bool]:
    """The path of a lane's parent (empty for a root), and whether the lane is a scope."""
    at = max(path.rfind("/"), path.rfind(">"))
    return ("", False) if at < 0 else (path[:at], path[at] == ">")


def strand(path: str) -> str:
    """The path of the strand that a lane belongs to; a scope belongs to the strand that opened it."""
    start = path.rfind("/") + 1
    return path[:start] + path[start:].partition(">")[0]
