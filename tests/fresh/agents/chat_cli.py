"""A chat on the command line (anthropic, streamed): reads standard input, argv and the environment; partial lines."""

import argparse
import os
import sys

import anthropic

parser = argparse.ArgumentParser()
parser.add_argument("--name", default=os.environ.get("USER_NAME", "nobody"))
parser.add_argument("--persona", choices=("kind", "terse"), default="kind")
options = parser.parse_args()
client = anthropic.Anthropic()
history: list = []


def say(text: str) -> None:
    history.append({"role": "user", "content": text})
    with client.messages.stream(
        model="claude-haiku-4", max_tokens=80, system=f"Be {options.persona} to {options.name}.", messages=history
    ) as stream:
        for part in stream.text_stream:
            sys.stdout.write(part)
            sys.stdout.flush()
    history.append({"role": "assistant", "content": stream.get_final_text()})
    sys.stdout.write("\n")


first = input(f"{options.name}> ")
say(first)
while line := sys.stdin.readline():
    if line.strip() == "/quit":
        break
    say(line.strip())
rest = sys.stdin.read()
print("left unread:", repr(rest), file=sys.stderr)
print(len(history), "messages", end="")
sys.exit(7)
