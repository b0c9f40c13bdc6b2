"""Feature flags of every type, asked before and after a tool."""

import asyncio

from openfeature import api
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

import reenact

flags = {
    name: InMemoryFlag("on", {"on": value})
    for name, value in {"new-ui": False, "limit": 3, "rate": 0.5, "tiers": {"gold": 1}, "theme": "plain"}.items()
}
api.set_provider_and_wait(InMemoryProvider(flags))
client = api.get_client()


@reenact.tool(effect="read")
def look(limit):
    return list(range(limit))


def show():
    print(
        client.get_boolean_value("new-ui", False),
        client.get_integer_value("limit", 0),
        client.get_float_details("rate", 0.0).value,
        client.get_object_value("tiers", {}),
    )


show()
look(1)
show()
theme = asyncio.run(client.get_string_value_async("theme", "none"))
print(client.get_string_details("theme", "none").reason, theme)
if client.get_boolean_value("new-ui", False):
    print("new", client.get_boolean_value("unheard-of", False))
