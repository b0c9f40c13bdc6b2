"""Secrets in a run that is broken off, goes on and is forked."""

import os
import sys
import urllib.request

import reenact

CANARIES: dict[str, str] = {}
PORT = 0
N = 1
C = {name: text[::-1] for name, text in CANARIES.items()}


@reenact.tool(effect="read")
def looked(query):
    if query["n"] == 2 and not os.path.exists("goes-on"):
        open("looking", "w").close()
        sys.stdin.read()
        os._exit(9)
    return {"client_secret": C["result"], "found": C["frozen_result"], "n": query["n"]}


@reenact.tool
def sent(password, n):
    return {"token": C["answer"], "echo": C["argument"], "n": n}


with reenact.step("plan", {"api_key": C["state"], "n": N}) as state:
    state["password"] = C["after"]
    reenact.note("seen", {"token": C["note"], "n": N})
n = state["n"]
print("password =", C["output"], n, flush=True)
print("it is", C["output"], C["answer"], file=sys.stderr, flush=True)
request = urllib.request.Request(
    f"http://127.0.0.1:{PORT}/v1/keys/{C['url']}/usage?token={C['query']}&n={n}",
    data=b'{"n": %d, "key": "' % n + C["body"].encode() + b'"}',
    headers={"Authorization": "Bearer " + C["header"], "content-type": "application/json"},
)
reenact.tool(effect="read", name="ask")(lambda: urllib.request.urlopen(request, timeout=20).read().decode())()
try:
    looked({"access_token": C["frozen_argument"], "n": n})
    sent(C["argument"], n)
    reenact.tool(effect="read", name=f"tool-{C['tool']}")(lambda n: n)(n)
    with reenact.step(f"step {C['step']}", {"n": n, "secret": C["state_list"]}):
        raise LookupError(f"no {C['error']} here")
except LookupError:
    pass
print("the key is", C["output"], n, flush=True)
