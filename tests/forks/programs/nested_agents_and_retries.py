"""A tool that fails twice, within a helper that is a tool too."""

import time

import reenact

tries = []


@reenact.tool(effect="read")
def flaky(query):
    tries.append(query)
    if len(tries) < 3:
        raise ConnectionError(f"try {len(tries)}")
    return query.upper()


def patient(query):
    for _ in range(3):
        try:
            return flaky(query)
        except ConnectionError as error:
            print("again:", error)
            time.sleep(30)


@reenact.tool(effect="read")
def helper(query):
    with reenact.step("helping", {"query": query}):
        return patient(query)


print(patient("one"), helper("two"))
