"""Printed output with credentials in it: however a program prints them, and however what it prints is cut, unchanged
code replays *same*, and nothing of a value that was removed is kept after that, or told."""

from __future__ import annotations

import base64
import json
import os
import random
import string
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.facts.record import OutputPrinted
from reenact.privacy import make_redactor
from reenact.replaying.results import Output, outputs_differ

SECRET = b"k" * 32
_PLACES = (
    "password = {}\n",
    'api_key: "{}"\n',
    '{{"client_secret": "{}", "n": 1}}\n',
    "login --password {}\n",
    "Authorization: Bearer {}\n",
    "https://app:{}@db.example.com/x\n",
    "token={}&page=2\n",
    '{{"name": "password", "value": "{}"}}\n',
)
_BARE = ("{}\n", "the value {} again\n", "['{}', 2]\n", "{}", " {} ", '"{}"', "<b>{}</b>", "at {}.\n", "x={};")
_FILL = ("\n", "nothing here\n", "step 1 of 3: ok ", "{}]\n", "caf\u00e9 \u2603\n", "}", "]", '{"a": [1, 2]}\n')


def value(seed: int, size: int) -> str:
    drawn = random.Random(seed)
    return "k3" + "".join(drawn.choices(string.ascii_letters + string.digits, k=size - 4)) + "Q9"


@st.composite
def printed(draw: st.DrawFn) -> tuple[list[tuple[int, bytes]], list[bytes]]:
    """Prints on both streams, cut anywhere, and the values in them."""
    values = [value(draw(st.integers(0, 99)) + 100 * n, draw(st.sampled_from([9, 12, 15, 16, 24, 40]))) for n in (0, 1)]
    texts: list[tuple[int, str]] = []
    for _ in range(draw(st.integers(1, 9))):
        planted = draw(st.sampled_from(values))
        sort = draw(st.sampled_from(["named", "named", "bare", "bare", "fill", "base64"]))
        if sort == "named":
            text = draw(st.sampled_from(_PLACES)).format(planted)
        elif sort == "bare":
            text = draw(st.sampled_from(_BARE)).format(planted)
        elif sort == "base64":
            text = base64.b64encode(json.dumps({"password": planted}).encode()).decode() + "\n"
        else:
            text = draw(st.sampled_from(_FILL))
        texts.append((draw(st.sampled_from([1, 1, 1, 2])), text))
    prints: list[tuple[int, bytes]] = []
    for stream, text in texts:
        data = text.encode()
        cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=3)) | {0, len(data)})
        prints += [(stream, data[a:b]) for a, b in pairwise(cuts)]
    return prints, [each.encode() for each in values]


def recorded(prints: list[tuple[int, bytes]]) -> list[OutputPrinted]:
    redactor = make_redactor(secret=SECRET)
    made = [each for stream, data in prints for each in redactor.clean(OutputPrinted(stream, 0, data))]
    return [each for each in (*made, *redactor.flush()) if isinstance(each, OutputPrinted)]


@settings(max_examples=settings().max_examples * 6, deadline=None)
@given(printed())
def test_unchanged_output_is_the_same_however_its_credentials_stand(
    planted: tuple[list[tuple[int, bytes]], list[bytes]],
) -> None:
    prints, _ = planted
    kept = recorded(prints)
    redactor = make_redactor()
    outputs = [Output(n, lambda n=n: (each.data for each in kept if each.stream == n)) for n in (1, 2)]  # type: ignore[misc]
    for stream, data in prints:
        outputs[stream - 1].feed(data)
    assert outputs_differ(outputs, redactor.printed) == []


@settings(max_examples=settings().max_examples * 4, deadline=None)
@given(printed(), st.sampled_from([1, 2]))
def test_nothing_of_a_credential_is_told_of_output_that_changed(
    planted: tuple[list[tuple[int, bytes]], list[bytes]], changed: int
) -> None:
    prints, values = planted
    whole = b"".join(data for _, data in prints)
    kept = recorded(prints)
    redactor = make_redactor()
    outputs = [Output(n, lambda n=n: (each.data for each in kept if each.stream == n)) for n in (1, 2)]  # type: ignore[misc]
    for stream, data in [(changed, b"changed\n"), *prints]:
        outputs[stream - 1].feed(data)
    told = repr(outputs_differ(outputs, redactor.printed))
    assert "differs" in told
    for value in values:  # a short one is found only where neither letter nor digit stands beside it
        if len(value) >= 12 and any(
            lead.encode() + value in whole for lead in ("password = ", "--password ", "Bearer ")
        ):
            assert value.decode() not in told


def test_a_value_that_was_known_by_its_shape_first_and_by_its_name_later_is_the_same() -> None:
    token = b"glpat-8Xqw1HjbKFNiLBl0ytcS"
    prints = [(2, b"it is " + token + b"\n"), (1, b"password = " + token + b"\n"), (2, b"it was " + token + b"\n")]
    kept = recorded(prints)
    outputs = [Output(n, lambda n=n: (each.data for each in kept if each.stream == n)) for n in (1, 2)]  # type: ignore[misc]
    for stream, data in prints:
        outputs[stream - 1].feed(data)
    assert outputs_differ(outputs, make_redactor().printed) == []


PROGRAM = """
import sys, time
def say(text, to=sys.stdout):
    to.write(text)
    to.flush()
V = {values!r}
say("first " + V[0][:9]); say(V[0][9:] + " bare\\n")
say("pass"); say("word = " + V[0] + "\\n")
say("again " + V[0] + " and " + V[1] + "\\n", sys.stderr)
say('{{"client_secret": "' + V[1]); say('"}}\\n', sys.stderr); say('"}}\\n')
say("--password " + V[2] + "\\n" + V[2] + "\\n" + V[1] + "\\n", sys.stderr)
{last}
"""


def test_a_program_that_names_its_credentials_before_or_after_them_replays_the_same(tmp_path: Path) -> None:
    values = ["Zq3vT9xKb7LmW2nRc4Yd8sPf", "hT5rW8eQ2yU9iO3pA6sD1fG4", "k3J9x0QpZ2aa"]
    environment = {**os.environ, "REENACT_STORE": str(tmp_path / "store")}
    program = tmp_path / "agent.py"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reenact", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    program.write_text(PROGRAM.format(values=values, last="time.time()"))
    assert run("record", "--", sys.executable, "agent.py").returncode == 0
    replayed = run("replay", "@", "--json")
    assert json.loads(replayed.stdout.splitlines()[-1])["verdict"] != "different", replayed.stdout
    for last in ("say('other ' + V[2] + V[0])", "import urllib.request; urllib.request.urlopen('http://x/' + V[2])"):
        program.write_text(PROGRAM.format(values=values, last=last))
        for words in (["--json"], ["--json", "--on-divergence", "observe"]):
            changed = run("replay", "@", *words)
            assert json.loads(changed.stdout.splitlines()[-1])["verdict"] == "different"
            assert not any(value in changed.stdout for value in values), changed.stdout
        changed = run("replay", "@")
        ours = [line for line in changed.stdout.splitlines() if line.startswith(("different", "  recorded", "  now"))]
        assert not any(value in line for value in values for line in ours), ours
