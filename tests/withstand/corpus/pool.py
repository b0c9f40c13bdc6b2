"""A pool of threads that share a session of requests; answers are printed in the order in which they came."""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed

import requests

session = requests.Session()
session.headers["Accept-Encoding"] = "identity"
URL = os.environ["SHOP_URL"]
seen = []


def look(number: int) -> str:
    answer = session.get(f"{URL}/stock", params={"item": f"thing {number}"}, timeout=20)
    seen.append(number)
    return f"{number} {answer.json()['left']}"


with ThreadPoolExecutor(4) as pool:
    jobs = [pool.submit(look, number) for number in range(10)]
    for job in as_completed(jobs):
        print(job.result())
print("seen", seen)
receipt = session.post(f"{URL}/order", json={"items": seen}, timeout=20)
print(receipt.status_code, receipt.json()["receipt"])
