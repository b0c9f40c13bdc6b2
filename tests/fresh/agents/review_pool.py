"""A pool of threads shares one client (anthropic, sync) and one ledger under a lock; results as they complete."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import anthropic

client = anthropic.Anthropic()
lock = threading.Lock()
ledger: dict[str, int] = {}
order: list[str] = []


def review(path: str) -> str:
    message = client.messages.create(
        model="claude-sonnet-4", max_tokens=100, messages=[{"role": "user", "content": f"review {path}"}]
    )
    with lock:
        ledger[path] = message.usage.output_tokens
        order.append(path)
        standing = sum(ledger.values())
    follow_up = client.messages.create(
        model="claude-sonnet-4",
        max_tokens=100,
        messages=[
            {"role": "user", "content": f"{path} costs {standing} so far, say more on {message.content[0].text}"}
        ],
    )
    return follow_up.content[0].text


with ThreadPoolExecutor(max_workers=6, thread_name_prefix="review") as pool:
    futures = {pool.submit(review, f"src/file_{number}.py"): number for number in range(14)}
    for future in as_completed(futures):
        print(futures[future], future.result())
print(order)
print(ledger)
