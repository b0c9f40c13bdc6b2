"""As many tools as `SIZE` says, with steps, tools in tools and the time between them."""

import time

import reenact


@reenact.tool(effect="read")
def look(n):
    return f"value {n} of many"


@reenact.tool(effect="read")
def outer(n):
    return look(n) + " seen from outside"


@reenact.tool(effect="write")
def pay(n):
    return "paid"


SIZE = 20
for n in range(SIZE):
    look(n)
    time.time()
    if n % 10 == 3:
        with reenact.step("part", state={"n": n}):
            outer(n)
            print("part", n)
print("last", look(SIZE))
