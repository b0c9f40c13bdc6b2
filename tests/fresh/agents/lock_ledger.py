"""Threads race for one account under a plain lock (requests): who came first decides what everybody sees."""

import os
import threading

import requests

WORLD = os.environ["WORLD_URL"]


class Account:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.balance = 500_000
        self.log: list[str] = []

    def withdraw(self, who: str, amount: int) -> bool:
        with self._lock:
            if amount > self.balance:
                self.log.append(f"{who} refused {amount} of {self.balance}")
                return False
            self.balance -= amount
            self.log.append(f"{who} took {amount}, left {self.balance}")
            return True


account = Account()
session = requests.Session()


def customer(name: str) -> None:
    for visit in range(3):
        amount = (
            session.get(f"{WORLD}/tools/quote", params={"who": name, "visit": visit}, timeout=5).json()["value"]
            % 90_000
        )
        if not account.withdraw(name, amount):
            requests.post(f"{WORLD}/v1/complaints", json={"who": name, "left": account.balance}, timeout=5)


threads = [threading.Thread(target=customer, args=(name,)) for name in ("ada", "ben", "cyd", "dov", "eve", "fay")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(account.log))
print("balance", account.balance)
