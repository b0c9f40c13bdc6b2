"""Functions that judge a run, of every result that one may give."""

import os  # noqa: F401
from os import getcwd  # noqa: F401


def polite(run):
    return "please" in str(run.answer).lower()


def complains(run):
    searches = run.calls("search_docs")
    return f"{len(searches)} searches for {searches[0].args['query']}" if len(searches) > 1 else ""


def scored(run):
    return 1 / max(1, len(run.calls("search_docs")))


def asserts(run):
    assert run.state("search")["searches"] < 5, "it went on searching"
    return True


def nothing(run):
    pass


def broken(run):
    raise KeyError("oops")


async def later(run):
    return True


def looks(run):
    return (
        run.run.user == "u1"
        and run.input is None
        and next(iter(run.events)).number == 0
        and len(list(run.steps)) >= 1
        and run.tokens == 0
        and run.recording.count() > 0
    )


lambda_one = lambda run: True  # noqa: E731
