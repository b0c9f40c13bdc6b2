"""Everything that differs from run to run goes into prompts: clock, ids, chance, temporary names, hash order."""

import datetime as dt
import os
import random
import secrets
import string
import tempfile
import time
import uuid
from datetime import date, datetime

from openai import OpenAI

client = OpenAI()
topics = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta"}
folder = tempfile.mkdtemp(prefix="agent-")
with tempfile.NamedTemporaryFile("w", suffix=".txt", dir=folder, delete=False) as handle:
    handle.write("scratch")
draw = random.Random()
seeded = random.Random(7)
prompt = {
    "now": datetime.now().isoformat(),
    "utc": dt.datetime.now(dt.timezone.utc).isoformat(),
    "today": date.today().isoformat(),
    "time": time.time(),
    "ns": time.time_ns(),
    "struct": time.strftime("%H:%M:%S"),
    "perf": time.perf_counter(),
    "uuid1": str(uuid.uuid1()),
    "uuid4": str(uuid.uuid4()),
    "token": secrets.token_hex(8),
    "url": secrets.token_urlsafe(5),
    "bytes": os.urandom(6).hex(),
    "choice": random.choice(sorted(topics)),
    "sample": random.sample(range(1000), 5),
    "own": draw.random(),
    "seeded": seeded.random(),
    "system": random.SystemRandom().randint(0, 10**9),
    "password": "".join(secrets.choice(string.ascii_letters) for _ in range(12)),
    "topics": list(topics),
    "hash": hash("agent"),
    "temp": [os.path.basename(folder), os.path.basename(handle.name)],
}
random.shuffle(prompt["sample"])
for _ in range(3):
    answer = client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": str(prompt)}], user=str(uuid.uuid4())
    )
    print(answer.id, answer.choices[0].message.content, round(time.time() - prompt["time"], 9))
    prompt["previous"] = answer.created, random.gauss(0, 1)
for key, value in prompt.items():
    print(key, value)
os.remove(handle.name)
os.rmdir(folder)
