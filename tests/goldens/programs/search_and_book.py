"""A search, a rate and a booking."""

import sys
from dataclasses import dataclass

import reenact


@dataclass
class Doc:
    text: str


@reenact.tool(effect="read")
def search(query):
    return Doc(query) if query == "object" else [query]


@reenact.tool(effect="read")
def rate(query):
    return 7


@reenact.tool
def book(query, price=None):
    return {"booked": query, "price": price}


found = search(sys.argv[1])
print(book(sys.argv[1]))
