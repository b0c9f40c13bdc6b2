"""uvicorn: its application is wrapped when it is loaded, its loop has no session, and a replay does not listen.

``Config.load`` imports the application (a part of the preamble) and makes ``loaded_app``, which both the lifespan and
every protocol call. ``Server._serve`` is the server itself. ``Server.startup`` runs the lifespan's start and then
listens: the replay of a request sends that request there instead.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from reenact.seams import lanes
from reenact.seams.patching import replace
from reenact.seams.servers.asgi import AsgiWrapper
from reenact.seams.servers.hosting import host

_STARTUP_FAILURE = 3
"""Exit status of uvicorn where the application does not start."""


def patch_config(module: ModuleType) -> None:
    """Hook ``uvicorn.config``."""
    replace(module.Config, "load", _loading)
    replace(module.Config, "__init__", _configuring)


def patch_server(module: ModuleType) -> None:
    """Hook ``uvicorn.server``."""
    replace(module.Server, "_serve", _serving)
    replace(module.Server, "startup", _starting)


def _configuring(original: Any) -> Any:
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - the method it replaces
        original(self, *args, **options)
        serving = host()
        if serving is not None and serving.alone:
            self.workers = 1
            self.reload = False
        if serving is not None and serving.performer() is not None:
            self.uds = None  # no server listens in a replay, and uvicorn would remove the socket file at its end

    return __init__


def _preamble() -> AbstractContextManager[None]:
    serving = host()
    return lanes.inside(serving.preamble) if serving is not None else nullcontext()


def _loading(original: Any) -> Any:
    def load(self: Any) -> None:
        with _preamble():
            original(self)
        if host() is not None and not isinstance(self.loaded_app, AsgiWrapper):
            self.loaded_app = AsgiWrapper(self.loaded_app)

    return load


def _serving(original: Any) -> Any:
    async def _serve(self: Any, *args: Any, **options: Any) -> None:
        serving = host()
        if serving is None:
            await original(self, *args, **options)
            return
        serving.serving()
        try:
            with lanes.inside(None):
                await original(self, *args, **options)
        finally:
            captured: list[int] = getattr(self, "_captured_signals", [])
            if number := serving.stopped_by():
                captured.append(number)
            for number in captured:
                serving.ending(number)

    return _serve


def _starting(original: Any) -> Any:
    async def startup(self: Any, *args: Any, **options: Any) -> None:
        serving = host()
        play = serving.player() if serving is not None else None
        if play is None:
            await original(self, *args, **options)
            return
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_STARTUP_FAILURE)
        await asyncio.ensure_future(play(self.config.loaded_app.application, self.lifespan.state))
        self.servers = []
        self.started = self.should_exit = True

    return startup
