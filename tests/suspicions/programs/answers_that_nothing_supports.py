"""Answers of a model, one of which nothing supports, and the orders of another user."""

import reenact


@reenact.tool(effect="read")
def orders(user_id):
    return {"orders": []}


@reenact.tool(effect="read")
def price(sku):
    if sku == "lamp":
        raise LookupError("no such lamp")
    return {"price": 120}


@reenact.model
def model(question):
    return {"cup": "It costs 120.", "lamp": "It costs 999."}[question]


with reenact.record(agent="shop", user="u-17"):
    orders(user_id="u-18")
    orders(user_id="u-18")
    price(sku="cup")
    model("cup")
    try:
        price(sku="lamp")
    except LookupError:
        pass
    model("lamp")
