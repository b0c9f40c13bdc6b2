"""Prices that are added up, one of which is no number."""

import sys

import reenact


@reenact.tool(effect="read")
def price_of(item):
    return float({"tea": "4.20", "cup": "7,50"}[item])


@reenact.tool(effect="read")
def stock_of(item):
    raise LookupError(item)


def main():
    try:
        stock_of("tea")
    except LookupError:
        pass
    total = 0
    for item in sys.argv[1:]:
        total += price_of(item)
    print(total)


main()
