"""Retries by hand and by urllib3 (requests) with jittered backoff, on a service that answers 429, 500 and HTML."""

import os
import random
import time

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

WORLD = os.environ["WORLD_URL"]


def by_hand(number: int) -> dict:
    for attempt in range(1, 9):
        began = time.time()
        reply = requests.get(f"{WORLD}/tools/moody", params={"n": number, "attempt": attempt}, timeout=3)
        try:
            reply.raise_for_status()
            return reply.json()
        except requests.HTTPError as error:
            wait = 0.001 * 2**attempt + random.uniform(0, 0.005)
            print(f"{began:.6f} attempt {attempt}: {error} -> waiting {wait:.6f}", reply.text[:40])
            time.sleep(wait)
    return {"value": None}


def by_library() -> requests.Session:
    session = requests.Session()
    policy = Retry(total=12, backoff_factor=0.001, backoff_jitter=0.001, status_forcelist=(429, 500, 502))
    session.mount("http://", HTTPAdapter(max_retries=policy))
    return session


print([by_hand(number) for number in range(4)])
with by_library() as session:
    for number in range(4):
        reply = session.get(f"{WORLD}/tools/moody?n={number}", timeout=3)
        print(reply.json(), len(reply.raw.retries.history), reply.elapsed)
