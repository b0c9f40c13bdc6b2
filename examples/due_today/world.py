"""The world of the reminder: a task service whose invoice is due on 20 November 2026."""

from __future__ import annotations

from reenact.testing.provider import Route, Script

SCRIPT = Script(routes=(Route("/tasks", {"id": "invoice", "due": "2026-11-20"}),))
