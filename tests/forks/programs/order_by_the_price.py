"""Tools in tools that mark that they ran, and an order of what they found."""

import reenact


def mark(text):
    with open("marks", "a") as marks:
        marks.write(text + " ")


@reenact.tool(effect="read")
def price(item):
    mark(f"price-{item}")
    return rate(item) + len(open("prices").read())


@reenact.tool(effect="read")
def rate(item):
    mark(f"rate-{item}")
    return 100


@reenact.tool(effect="read")
def stock(item, amount):
    mark(f"stock-{item}")
    return amount


@reenact.tool
def order(item, amount):
    mark(f"order-{item}")
    return f"{amount} {item} ordered"


found = price("tea")
print("price", found, "stock", stock("tea", found // 100))
print(order("tea", stock("cups", 2)))
