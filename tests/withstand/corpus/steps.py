"""Steps with state, a retriever, notes, and an endpoint that is asked in each step."""

import os
import urllib.parse
import urllib.request

import reenact

URL = os.environ["SHOP_URL"]


@reenact.retriever(embedding_model="letters-1")
def search(query: str) -> list[dict[str, object]]:
    with urllib.request.urlopen(f"{URL}/stock?" + urllib.parse.urlencode({"item": query})) as answer:
        return [{"id": "d1", "score": 0.5, "content": answer.read().decode()}]


@reenact.step("collect")
def collect(state: dict[str, object]) -> dict[str, object]:
    state["docs"] = search(f"query {state['turn']}")
    return state


state: dict[str, object] = {"turn": 0, "docs": [], "said": []}
for turn in range(3):
    state["turn"] = turn
    collect(state)
    with reenact.step("answer", state=state):
        reenact.note("turn", turn)
        state["said"] = [*state["said"], state["docs"][0]["content"]]  # type: ignore[index, misc]
print(state)
