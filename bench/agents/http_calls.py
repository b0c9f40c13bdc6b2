"""A program that makes N model calls over httpx."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import httpx

from bench.agents.figures import measure
from bench.traffic import WARM, body, url

if __name__ == "__main__":
    client = httpx.Client()
    for number in range(WARM):
        client.post(url(), json=body(-number))
    address = url()
    measure(lambda asked: client.post(address, json=asked).content, int(sys.argv[1]), body)
