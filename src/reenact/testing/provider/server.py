"""The scripted provider: a small HTTP/1.1 server on loopback that answers from a script. It is not a model.

What listens and what makes up answers is loaded when it starts: most who import this start it in another process.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from reenact.abc.sources import CLOCK, ENTROPY, Clock, Entropy
from reenact.facts.answers.asks import Turn
from reenact.facts.call import Json
from reenact.facts.late import late
from reenact.testing.provider.script import SERVER, Fault, Reply, Script

if TYPE_CHECKING:
    from reenact.testing.provider.provider_decisions import HttpRequest, decide, failed
    from reenact.testing.provider.provider_http import ProviderServer
else:
    decide = late("reenact.testing.provider.provider_decisions", "decide")
    failed = late("reenact.testing.provider.provider_decisions", "failed")
    ProviderServer = late("reenact.testing.provider.provider_http", "ProviderServer")

KEY = "sk-scripted-provider-takes-any-key"
"""The key that ``environment`` gives. Any will do; none is refused, as with the real ones."""

_REMEMBERED = 1000


class ScriptedProvider:
    """A provider of models and tools that answers from a script, on a random port of 127.0.0.1.

    It speaks OpenAI's chat completions and responses and Anthropic's messages, whole and streamed, and JSON over
    HTTP for tools. At temperature 0, or with a seed, the same request gets the same answer; ids and times are new in
    each. It is no model and says so: ``Server: reenact-scripted-provider`` and ``x-reenact-scripted: 1``.

    Use it as a context manager; its threads are daemons and end with it. A program under test that is recorded should
    talk to a provider in a process of its own (``ProviderProcess``), as it would to a real one.

    Args:
        script: The world; without one, models improvise.
        day: The world's first day.
        clock: The source of its times.
        entropy: The source of its ids, and of its answers above temperature 0 without a seed.
    """

    def __init__(
        self, script: Script | None = None, *, day: int = 1, clock: Clock = CLOCK, entropy: Entropy = ENTROPY
    ) -> None:
        self.script = script or Script()
        self.day = day
        self._clock = clock
        self._entropy = entropy
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._planned: list[tuple[str, Fault]] = []
        self._memory: OrderedDict[str, tuple[Turn, ...]] = OrderedDict()
        self._last_us = clock.mono_us()
        self._server: ProviderServer | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Base URL, without a path and without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of requests, by path."""
        with self._lock:
            return dict(self._counts)

    @property
    def calls(self) -> int:
        """The number of requests to any path."""
        with self._lock:
            return sum(self._counts.values())

    def environment(self) -> dict[str, str]:
        """Environment variables that point the real SDKs here."""
        return environment(self.url)

    def listen(self) -> None:
        """Open the door: on a random port at first, on the same one after ``refuse``."""
        if self._server is not None:
            return
        self._server = ProviderServer(
            self._port,
            arrived=self._arrived,
            answer=self._answer,
            control=self._control,
            refuse=self.refuse,
            wall_us=self._clock.wall_us,
        )
        self._port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name=SERVER, daemon=True).start()

    def refuse(self) -> None:
        """Close the door and every connection: new ones are refused until ``listen`` is called."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def stop(self) -> None:
        """End the server; its counts can still be read."""
        self.refuse()

    def fail(self, fault: Fault, *, path: str = "/", times: int = 1) -> None:
        """Make the next requests fail.

        Args:
            fault: The fault.
            path: The beginning of their path.
            times: The number of requests.
        """
        with self._lock:
            self._planned += [(path, fault)] * times

    def idle_s(self) -> float:
        """Seconds since the last request came."""
        return (self._clock.mono_us() - self._last_us) / 1_000_000

    def _arrived(self, target: str) -> tuple[int, int, Fault | None]:
        """Count a request: its number at its path, the day, and the fault that is planned for it."""
        path = target.partition("?")[0]
        with self._lock:
            self._last_us = self._clock.mono_us()
            self._counts[path] += 1
            at = next((at for at, (start, _) in enumerate(self._planned) if path.startswith(start)), None)
            return self._counts[path], self.day, None if at is None else self._planned.pop(at)[1]

    def _answer(self, request: HttpRequest, planned: Fault | None) -> tuple[Reply, Fault | None]:
        if planned is not None and planned.kind == "status":
            return failed(request, planned), None
        fresh = self._entropy.bytes(64)
        decision = decide(self.script, request, self._memory.get, fresh, self._clock.wall_us() // 1_000_000)
        fault = planned or decision.fault
        if fault is not None and fault.kind == "status":
            return failed(request, fault), None
        if decision.remember is not None:
            with self._lock:
                self._memory[decision.remember[0]] = decision.remember[1]
                while len(self._memory) > _REMEMBERED:
                    self._memory.popitem(last=False)
        return decision.reply, fault

    def _control(self, method: str, body: bytes) -> Json:
        if method == "POST":
            asked = json.loads(body)
            with self._lock:
                self.day = int(asked["day"])
        return {
            "server": SERVER,
            "about": "scripted answers, not a model",
            "day": self.day,
            "counts": dict(self.counts),
        }


def environment(url: str) -> dict[str, str]:
    """Environment variables that point the real SDKs at the provider under ``url``."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
    }
