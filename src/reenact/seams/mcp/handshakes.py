"""The handshake of an MCP session: kept as the client made it, made again with a live server, and compared.

If a session goes live later, its handshake was answered from the recording, and the server has yet to get one. Then the
client's own messages are sent to the server. The client already has its answers and does not notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field

_REQUESTS: Final = ("server/discover", "initialize")
_AFTER: Final = "notifications/initialized"
_TELLING: Final = ("protocolVersion", "supportedVersions", "capabilities")


@dataclass(slots=True)
class Handshake:
    """The client's messages at the beginning of its session, and the server's answer.

    Attributes:
        said: Method, parameters and options of each message, in order.
        told: The recorded result of the last request among them.
    """

    said: list[tuple[str, Mapping[str, Any] | None, Any]] = field(default_factory=list)
    told: Mapping[str, Any] = field(default_factory=dict)

    def keep(self, method: str, params: Mapping[str, Any] | None, opts: Any, result: Any = None) -> None:
        """Keep a message that has been answered, if it is one of a handshake."""
        if method in _REQUESTS:
            self.said, self.told = [(method, params, opts)], result
        elif method == _AFTER:
            self.said.append((method, params, opts))

    async def again(self, dispatcher: Any) -> list[str]:
        """Make the handshake with a live server.

        Returns:
            The differences between that server and the recorded one, in words.

        Raises:
            Exception: The server does not take the handshake.
        """
        told: Mapping[str, Any] = self.told
        for method, params, opts in self.said:
            if method == _AFTER:
                await dispatcher.notify(method, params, opts)
            else:
                told = await dispatcher.send_raw_request(method, params, opts)
        return differences(self.told, told)


def differences(recorded: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """The relevant differences between two answers to a handshake: name and version, protocol, capabilities."""
    before, now = _identity(recorded), _identity(live)
    return [
        f"{name} was {_short(before.get(name))}, is {_short(now.get(name))}"
        for name in before | now
        if before.get(name) != now.get(name)
    ]


def _identity(told: Mapping[str, Any]) -> dict[str, Json]:
    found: dict[str, Json] = {name: told[name] for name in _TELLING if name in told}
    meta = told.get("_meta")
    server = told.get("serverInfo")
    if server is None and isinstance(meta, Mapping):
        server = meta.get("io.modelcontextprotocol/serverInfo")
    if isinstance(server, Mapping):
        found |= {f"server {name}": server.get(name) for name in ("name", "version")}
    return found


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:119] + "…"
