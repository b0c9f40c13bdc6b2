"""An agent that lives a recorded trajectory again: a loop of model calls with tools, retries, streams, pools, nesting.

A trajectory is a list of messages as OpenAI's chat completions have them. The *world* of one is a scripted provider
that says what the assistant said; the tools give what they gave. The agent around it knows neither.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import openai

import reenact
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Ask, Route, Rule, Script, ToolUse, When, rate_limited

Message = Mapping[str, Any]
READS = ("get", "search", "list", "find", "calculate", "think", "look")


def generated(turns: int, seed: int) -> list[Message]:
    """A conversation of our own: questions, look-ups, a booking now and then, answers."""
    chance = random.Random(seed)
    messages: list[Message] = [{"role": "system", "content": "You help travellers. Confirm before you book."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Please see to trip {chance.randrange(10_000)} ({turn})."})
        for number in range(chance.randrange(3)):
            name = chance.choice(["get_trip", "search_direct_flight", "calculate", "book_reservation"])
            arguments = json.dumps({"trip": chance.randrange(4), "number": number})
            call = {"id": f"call_{turn}_{number}", "type": "function", "function": {"name": name}}
            call["function"] = {"name": name, "arguments": arguments}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            result = json.dumps({"found": chance.randrange(10_000)})
            messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": result})
        messages.append({"role": "assistant", "content": f"Trip seen to: {chance.randrange(10_000)}."})
    return messages


@contextmanager
def world(messages: Sequence[Message]) -> Iterator[str]:
    """Serve what the assistant said, with a rate limit at some calls; gives the address."""
    said = [message for message in messages if message["role"] == "assistant"]

    def turn(ask: Ask) -> Message:
        return said[min(sum(turn.role == "assistant" for turn in ask.turns), len(said) - 1)]

    def uses(ask: Ask) -> tuple[ToolUse, ...]:
        calls = [call["function"] for call in turn(ask).get("tool_calls") or ()]
        return tuple(ToolUse(call["name"], json.loads(call["arguments"])) for call in calls)

    limited = tuple(Rule(when=When(from_call=n, to_call=n), fault=rate_limited(0.01)) for n in (2, 3, 9))
    script = Script(
        rules=(*limited, Rule(say=lambda ask: turn(ask).get("content") or "", uses=uses)),
        routes=(Route("/rules", lambda visit: {"rule": visit.call, "of": visit.query.get("of")}),),
    )
    with ScriptedProvider(script) as provider:
        yield provider.url


def agent(address: str, messages: Sequence[Message]) -> Callable[[], list[Any]]:
    """A program that talks to the world at ``address`` until the conversation ends; gives what it has seen."""
    given = [message["content"] for message in messages if message["role"] == "tool"]
    heard = [message["content"] for message in messages if message["role"] == "user"]
    names = sorted({m.get("name") or "tool" for m in messages if m["role"] == "tool"})

    def program() -> list[Any]:
        return Conversation(address, messages[0]["content"], heard, given, names).serve()

    return program


@reenact.tool(effect="read")
def listen(heard: Sequence[str], number: int) -> str:
    """What the user says next."""
    return heard[number]


class Conversation:
    """One conversation under way.

    Args:
        address: The world's.
        policy: System prompt.
        heard: What the user says, in order.
        given: What the tools give, in order.
        names: Names of the tools.
    """

    def __init__(
        self, address: str, policy: str, heard: Sequence[str], given: Sequence[str], names: Sequence[str]
    ) -> None:
        self._address = address
        plain = openai.DefaultHttpxClient(verify=False)  # certificates would cost more than all the rest
        self._client = openai.OpenAI(base_url=f"{address}/v1", api_key="sk-none", max_retries=4, http_client=plain)
        self._messages: list[Any] = [{"role": "system", "content": policy}]
        self._heard, self._given, self._used = heard, given, 0
        self._tools = {name: self._tool(name) for name in names}
        self._schemas = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        self._seen: list[Any] = []

    def serve(self) -> list[Any]:
        """Serve the user until nothing more is said."""
        turn = 0
        with self._client, ThreadPoolExecutor(2) as pool:
            for number in range(len(self._heard)):
                self._messages.append({"role": "user", "content": listen(self._heard, number)})
                while self._decide(turn, pool):
                    turn += 1
                turn += 1
        return self._seen

    def _decide(self, turn: int, pool: ThreadPoolExecutor) -> bool:
        """One turn of the model; whether it used tools."""
        with reenact.step("decide", {"turn": turn, "messages": len(self._messages)}) as state:
            text, calls = self._streamed() if turn % 3 == 1 else self._whole()
            state["calls"] = [call["function"]["name"] for call in calls]
        self._seen.append([turn, text, state["calls"]])
        answer: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            answer["tool_calls"] = calls
        self._messages.append(answer)
        for call in calls:
            name = call["function"]["name"]
            checked = pool.submit(self._checked, name)
            used = pool.submit(self._tools[name], json.loads(call["function"]["arguments"]), self._used)
            self._used += 1
            self._messages.append({"role": "tool", "tool_call_id": call["id"], "content": used.result()})
            self._seen.append([name, used.result(), checked.result()])
        return bool(calls)

    def _whole(self) -> tuple[str | None, list[Any]]:
        reply = self._client.chat.completions.create(model="gpt-4o", messages=self._messages, tools=self._schemas)  # type: ignore[arg-type]
        message = reply.choices[0].message
        return message.content, [call.model_dump(exclude_none=True) for call in message.tool_calls or ()]

    def _streamed(self) -> tuple[str | None, list[Any]]:
        with self._client.chat.completions.stream(
            model="gpt-4o",
            messages=self._messages,
            tools=self._schemas,  # type: ignore[arg-type]
        ) as stream:
            message = stream.get_final_completion().choices[0].message
        calls = [call.model_dump(exclude_none=True) for call in message.tool_calls or ()]
        for call in calls:
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        return message.content, calls

    def _tool(self, name: str) -> Callable[[Any, int], str]:
        """A tool that gives what it gave; reads by its name, else it writes."""
        given = self._given

        def body(arguments: Any, number: int) -> str:
            return given[number]

        return reenact.tool(effect="read" if name.startswith(READS) else "write", name=name)(body)

    def _checked(self, name: str) -> list[Any]:
        """A nested agent, in a thread of the pool: two rules looked up at once."""

        async def rule(client: httpx.AsyncClient, number: int) -> Any:
            return (await client.get(f"{self._address}/rules", params={"of": f"{name} {number}"})).json()

        async def both() -> list[Any]:
            async with reenact.record(agent="checker"), httpx.AsyncClient(verify=False) as client:
                return list(await asyncio.gather(rule(client, 0), rule(client, 1)))

        return asyncio.run(both())
