"""Refusals with half a JSON body: once the SDK tries again, once this program does, with a random pause."""

import random
import time

from openai import OpenAI, RateLimitError

patient = OpenAI(max_retries=3)
print(
    patient.chat.completions.create(model="gpt-5-mini", messages=[{"role": "user", "content": "a crowded place"}])
    .choices[0]
    .message.content
)
hasty = OpenAI(max_retries=0)
for attempt in range(5):
    try:
        answer = hasty.chat.completions.create(
            model="gpt-5-mini", messages=[{"role": "user", "content": f"crowded again, try {attempt}"}]
        )
    except RateLimitError as error:
        pause = random.uniform(0.01, 0.05)
        print("refused:", error.status_code, type(error.body).__name__, f"{pause:.9f}")
        time.sleep(pause)
    else:
        print(answer.choices[0].message.content)
        break
