"""A Starlette application whose tool runs while its answer is streamed."""

import asyncio

from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

import reenact


@reenact.tool(effect="read")
def twice(n):
    return 2 * n


def streamed(pause):
    async def handler(request):
        async def words():
            for n in range(3):
                yield f"word {twice(n)}\n"
                if pause:
                    await asyncio.sleep(0.1)

        return StreamingResponse(words(), media_type="text/plain")

    return handler


ROUTES = [("/quick", streamed(False)), ("/slow", streamed(True))]
app = Starlette(routes=[Route(path, handler, methods=["POST"]) for path, handler in ROUTES])
