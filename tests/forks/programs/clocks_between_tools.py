"""What the clocks say before, between and after three tools and two sleeps."""

import datetime
import time

import reenact


@reenact.tool(effect="read")
def look(query):
    return query.upper()


def show(what):
    print(what, datetime.datetime.now(datetime.UTC).isoformat(), round(time.monotonic() - began, 6), sep="|")


began = time.monotonic()
show("first")
look("a")
show("second")
time.sleep(0.02)
look("b")
show("third")
time.sleep(0.02)
show("fourth")
look("c")
show("fifth")
