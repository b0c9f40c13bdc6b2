"""A tool that is slow if the plan says so, the date, and a payment."""

import datetime
import time

import reenact


@reenact.tool(effect="read")
def look(query):
    if query == "slow":
        with open("looking", "a") as file:
            file.write("x")
        until = time.perf_counter() + 2
        while time.perf_counter() < until:
            pass
    return query.upper()


@reenact.tool
def pay(query):
    with open("paid", "a") as file:
        file.write(query)
    return query


with reenact.step("plan", {"query": "fast"}) as state:
    pass
print(look(state["query"]), datetime.date.today().year, flush=True)
print(pay(state["query"]), flush=True)
