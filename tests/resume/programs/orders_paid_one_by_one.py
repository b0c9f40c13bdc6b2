"""Five orders: a price each, a payment, and a report at the end, with places to fall at."""

import json
import os
import signal
import time
import urllib.request

import reenact

BANK = os.environ["BANK"]


def fall(where):
    if os.path.exists(where):
        time.sleep(0.5)  # for what has come to be kept
        os.kill(os.getpid(), signal.SIGKILL)


@reenact.tool(effect="read")
def price(order):
    with urllib.request.urlopen(f"{BANK}/{'x' * order}") as response:
        fall(f"fall at price {order}")
        return json.load(response)["price"]


@reenact.tool
def pay(order, amount):
    key = reenact.current_run().effect_key
    data = json.dumps({"order": order, "amount": amount}).encode()
    request = urllib.request.Request(BANK + "/pay", data, {"Idempotency-Key": key})
    with urllib.request.urlopen(request) as response:
        fall(f"fall at pay {order}")
        receipt = json.load(response)["receipt"]
    if os.path.exists(f"die {order}"):
        os.kill(os.getpid(), signal.SIGKILL)
    return receipt


@reenact.tool(effect="read")
def report(total):
    if os.path.exists("down"):
        raise ConnectionError("the mail server is down")
    return f"paid {total}"


total = 0
for order in range(1, 6):
    amount = price(order)
    with reenact.step("paying", {"order": order}):
        print("order", order, "receipt", pay(order, amount), flush=True)
    total += amount
print(report(total))
