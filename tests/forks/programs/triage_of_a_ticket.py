"""A search with as many tries as the plan allows, a ticket that is assigned, and a mail."""

import dataclasses

import reenact


@dataclasses.dataclass(frozen=True)
class Ticket:
    owner: str
    level: int = 1


@reenact.tool(effect="read")
def look(query):
    return {"found": 0, "query": query}


@reenact.tool
def mail(text):
    print("mailing", text)
    return "mailed"


state = {"query": "refund", "limits": {"tries": 2}}
with reenact.step("plan", state):
    tries = state["limits"]["tries"]
for attempt in range(tries):
    try:
        answer = look(state["query"])
    except TimeoutError as error:
        print("no answer:", error)
        break
    if answer["found"]:
        print("found", answer)
        break
with reenact.step("assign", Ticket("nobody")) as ticket:
    print(ticket.owner, ticket.level)
print(mail(f"to {ticket.owner}"))
