"""Secrets in every place that a recording has: arguments, states, requests, names, files, output."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import urllib.request

import reenact

CANARIES: dict[str, str] = {}
PORT = 0
N = 1

C = {name: text[::-1] for name, text in CANARIES.items()}
logging.basicConfig()


@reenact.tool(effect="none")
def computed(password):
    return {"client_secret": C["result"], "n": N}


@reenact.tool(effect="read")
def asked(query):
    return ["found", C["frozen_result"], query]


@reenact.tool(effect="read")
def refused():
    raise PermissionError(f"key {C['tool_error']} is not permitted")


async def work():
    with reenact.step("in a task", {"n": N}):
        await asyncio.sleep(0)


work.__qualname__ = C["task"]


def threaded():
    with reenact.step("in a thread", {"n": N}):
        pass


threaded.__qualname__ = C["thread"]

with reenact.step("plan", {"api_key": C["state"], "list": [1, C["state_list"]], "n": N}) as state:
    state["password"] = C["after"]
    reenact.note("seen", {"token": C["note"], "n": N})
computed(C["argument"])
asked({"access_token": C["frozen_argument"], "n": N})
try:
    refused()
except PermissionError as error:
    print("refused:", str(error)[:4])
try:
    with reenact.step(f"step {C['step']}", {"n": N}):
        raise LookupError(f"no {C['error']} here")
except LookupError:
    pass
named = reenact.tool(effect="read", name=f"tool-{C['tool']}")(lambda n: n)
named(N)

request = urllib.request.Request(
    f"http://127.0.0.1:{PORT}/v1/keys/{C['url']}/usage?q=1&token={C['query']}&n={N}",
    data=b'{"n": %d, "key": "' % N + C["body"].encode() + b'"}',
    headers={"Authorization": "Bearer " + C["header"], "content-type": "application/json"},
)
with urllib.request.urlopen(request, timeout=20) as answer:
    print(len(answer.read()))

quiet = {"stdout": subprocess.DEVNULL}
subprocess.run(["true", C["argv"], "--password", C["argv_named"], str(N)], **quiet)
subprocess.run(["true", "-u", "user:" + C["argv_user"], "-p" + C["argv_attached"]], **quiet)
subprocess.run(f"true --token '{C['shell']}' && true", shell=True, **quiet)

asyncio.run(work())
thread = threading.Thread(target=threaded)
thread.start()
thread.join()

print(sum(len(name) for name in os.listdir("found")) > 0, file=sys.stderr)
with open("found/" + C["read"] + ".txt") as file:
    file.read()
with open(C["written"] + ".txt", "w") as file:
    file.write("x")
print(len(os.environ["THE_API_KEY"]) > 0)
logging.warning("key %s was refused", C["log"])
print("the key is", C["output"], N)
print("the key is", C["error_output"], N, file=sys.stderr)
