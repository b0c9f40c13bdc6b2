"""The command line of the package."""

import argparse
import asyncio
import sys

from . import report
from .plan import plan
from .search import search_all


async def amain(topic: str, width: int) -> int:
    questions = await plan(topic, width)
    findings = await search_all(questions)
    print(await asyncio.to_thread(report.write, topic, findings))
    return 0 if findings else 4


parser = argparse.ArgumentParser(prog="researcher")
parser.add_argument("topic")
parser.add_argument("--width", type=int, default=6)
options = parser.parse_args()
sys.exit(asyncio.run(amain(options.topic, options.width)))
