"""A server (starlette, openai): one route asks the model."""

from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

client = AsyncOpenAI()


async def ask(request: Request) -> JSONResponse:
    """Answer a question."""
    question = (await request.json())["question"]
    if question == "crash":
        raise ValueError("no question at all")
    messages = [{"role": "user", "content": question}]
    answer = await client.chat.completions.create(model="gpt-5.4", messages=messages)
    return JSONResponse({"answer": answer.choices[0].message.content})


async def health(request: Request) -> JSONResponse:
    """Say that it is up."""
    return JSONResponse({"ok": True})


app = Starlette(routes=[Route("/ask", ask, methods=["POST"]), Route("/health", health)])
