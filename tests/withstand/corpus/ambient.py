"""Standard input, arguments, clocks, sleep, chance and names, all of which go into what is asked."""

import datetime
import json
import os
import random
import secrets
import sys
import tempfile
import time
import urllib.request
import uuid

URL = os.environ["SHOP_URL"]
words = [line.strip() for line in sys.stdin]
random.shuffle(words)
began = time.monotonic()
time.sleep(0.02)
body = {
    "words": words,
    "argv": sys.argv[1:],
    "now": datetime.datetime.now().isoformat(),
    "nonce": secrets.token_hex(4),
    "id": str(uuid.uuid4()),
    "chance": random.random(),
    "slept": time.monotonic() - began,
    "hash": hash("a text"),
    "temporary": os.path.basename(tempfile.mktemp()),
}
request = urllib.request.Request(
    f"{URL}/order", json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
)
with urllib.request.urlopen(request) as answer:
    print(answer.status, json.load(answer))
print(body)
print("goodbye", file=sys.stderr)
sys.exit(3)
