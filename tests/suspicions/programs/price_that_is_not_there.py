"""A payment of a price that the answer may lack."""

import sys

import reenact


@reenact.tool(effect="read")
def price(sku):
    return {} if sku == "lamp" else {"price": 120}


@reenact.tool
def pay(amount):
    return "paid"


@reenact.tool(effect="read")
def stock(sku):
    return {"left": 3}


with reenact.record(agent="shop"):
    for sku in ("cup", "jug", "pan"):
        stock(sku=sku)
    pay(amount=price(sku=sys.argv[1])["price"])
