"""An agent that books a hundred lines in a database, and asks the model what came of it (sqlite3, openai)."""

import sqlite3
import time

from openai import OpenAI

db = sqlite3.connect("shop.db")
db.execute("create table if not exists bookings (number int, what text)")
for number in range(100):
    db.execute("insert into bookings values (?, ?)", (number, "a booking"))
    if number % 10 == 9:
        db.commit()
        time.time()
(count,) = db.execute("select count(*) from bookings").fetchone()
messages = [{"role": "user", "content": f"Are {count} bookings enough?"}]
print(OpenAI().chat.completions.create(model="gpt-5.4", messages=messages).choices[0].message.content)
db.close()
