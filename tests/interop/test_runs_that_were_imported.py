"""An imported run is a run like any other to whoever looks at it, and says of itself what it cannot know."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import reenact
from reenact.abc.store import Store
from reenact.errors import ForkError, UnreplayableRun
from reenact.facts.call import Effect
from reenact.facts.kit import ItemState, ReplayUse
from reenact.interop import importing
from reenact.interop.file_formats import write
from reenact.interop.readers import ReaderOptions
from reenact.timetravel.forks.fork_launch import require_ended
from reenact.triage.audit import audited
from reenact.triage.budget import budget_of
from reenact.triage.kit_of_run import kit_of
from tests.interop.conftest import Bring, Tried

KEY = "sk-" + "a1B2c3D4e5F6g7H8" * 3

CASSETTE = f"""
version: 1
interactions:
- request:
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    headers: {{Authorization: [Bearer {KEY}], Content-Type: [application/json]}}
    body: '{{"model": "gpt-4o", "messages": [{{"role": "user", "content": "my key is {KEY}"}}]}}'
  response:
    status: {{code: 200, message: OK}}
    headers: {{Content-Type: [application/json], Set-Cookie: [session=0123456789abcdef]}}
    parsed_body:
      object: chat.completion
      model: gpt-4o
      choices: [{{index: 0, finish_reason: stop, message: {{role: assistant, content: your key is {KEY}}}}}]
      usage: {{prompt_tokens: 9, completion_tokens: 4}}
- request: {{method: PUT, uri: 'https://api.example.test/x?api_key={KEY}', body: null, headers: {{}}}}
  response: {{status: {{code: 204, message: No Content}}, headers: {{}}, body: {{string: ''}}}}
"""


def test_credentials_pass_the_same_gate_as_a_recording(bring: Bring, store: Store, tmp_path: Path) -> None:
    (run,) = bring("vcr", CASSETTE)
    recording = store.open(run)
    first, second = recording.events()
    for text in (repr(first.call.head), recording.body(first.request).decode(), repr(second.call.head)):
        assert "~" in text
        assert KEY not in text
    parts = b"".join(data for _, _, data in recording.parts(0))
    assert re.search(rb"your key is ~[a-z0-9]+~", parts), "a value once removed is removed wherever it stands"
    for kept in (tmp_path / ".reenact").rglob("*"):
        assert not kept.is_file() or KEY.encode() not in kept.read_bytes()
    assert (first.call.effect, second.call.effect) == (Effect.READ, Effect.WRITE)
    assert (run.totals.models, run.totals.tokens_in, run.totals.tokens_out) == (1, 9, 4)
    assert "OPENAI_API_KEY" in run.environment["env_secret"]


def test_an_import_that_is_under_way_is_shown_as_one(
    bring: Bring, store: Store, desk: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[bytes] = []

    def looked_at(_: object) -> int:
        listed.append(desk.reenact("--store", store.url, "ls").out)
        return 0

    monkeypatch.setattr(importing, "_duration_us", looked_at)
    bring("vcr", CASSETTE)
    assert [(b"importing" in each, b"recording" in each) for each in listed] == [(True, False)], listed


def test_it_is_imported_and_shown_by_the_commands(desk: Tried) -> None:
    with gzip.open(desk.folder / "cassette.yaml.gz", "wt") as file:
        file.write(CASSETTE)
    imported = desk.reenact("--json", "import", "vcr", "cassette.yaml.gz", "--agent", "bot@2", "--tag", "from=prod")
    run = json.loads(imported.out)
    own = run["tags"].pop("import")
    assert (run["agent"], run["version"], run["tags"], len(own)) == ("bot", "2", {"from": "prod"}, 16)
    shown = desk.reenact("show", "@")
    assert (shown.code, KEY.encode() in shown.out) == (0, False)
    assert f"next: reenact replay {run['tail']} --cmd 'python YOUR_PROGRAM.py'" in shown.err.decode()


def test_it_says_what_it_lacks_and_is_no_place_to_branch_at(bring: Bring, store: Store) -> None:
    (run,) = bring("vcr", CASSETTE)
    items = {item.name: item for item in kit_of(store, run).items}
    assert items["input"].about == "imported (vcr 1): the file knows no program, and not what it was given"
    assert items["order"].standing is items["timestamps"].standing is ItemState.MISSING
    assert "does not know what overlapped" in repr(budget_of(store, run))
    with pytest.raises(ForkError, match="was imported, and can neither be forked nor resumed yet"):
        require_ended(run)
    walked = reenact.replay(run, mode="events", store=store)
    assert walked.verdict == "same" and "order not known" in walked.report.last_line


def test_its_kit_says_of_each_item_whether_it_is_exact_semantic_or_absent(bring: Bring, store: Store) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So."}}
    answer = {"object": "chat.completion", "model": "m", "choices": [choice]}
    asked = {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "headers": {}}
    came = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": json.dumps(answer)}}
    forms = {"body": json.dumps(request)}, {"parsed_body": request}
    texts = (json.dumps({"interactions": [{"request": asked | form, "response": came}]}) for form in forms)
    wire, parsed = (bring("vcr", text)[0] for text in texts)
    for run, grade in ((parsed, "semantic"), (wire, "exact")):
        kit = kit_of(store, run)
        items = {item.name: item for item in kit.items}
        assert {items[name].fidelity for name in ("system_prompt", "history", "model_calls", "model")} == {grade}
        assert kit.verdict is ReplayUse.EVENTS and items["input"].fidelity == "absent", "it has no program"
        assert items["commit"].capture == ("reenact import vcr FILE --tag commit=…",)
        assert not items.keys() & {"packages", "python", "hash_seed", "undecorated_tools"}
        assert audited(run, kit).replays, "with a program that is given"


def test_the_kit_of_a_conversation_says_what_its_file_does_not_say(bring: Bring, store: Store) -> None:
    said = {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]}
    (run,) = bring("messages", json.dumps(said) + "\n", ReaderOptions(params={"model": "m"}))
    items = {item.name: item for item in kit_of(store, run).items}
    assert (items["history"].fidelity, items["system_prompt"].fidelity) == ("semantic", "absent")
    assert items["system_prompt"].capture[0] == "reenact import messages FILE --param system=…"


ASKING = """
import json, sys, urllib.request

def answer(question):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": question}]}).encode()
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request("https://api.openai.com/v1/chat/completions", body, headers)
    return json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]

if __name__ == "__main__":
    print(answer(sys.argv[1]))
"""


def test_what_the_user_said_is_what_the_agent_is_given(desk: Tried) -> None:
    said = {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]}
    desk.writes("chats.jsonl", json.dumps(said) + "\n")
    desk.writes("agent.py", ASKING)
    assert desk.reenact("import", "messages", "chats.jsonl", "--param", "model=m").code == 0
    for how in (("--cmd", "python agent.py {input}"), ("--entry", "agent:answer")):
        played = desk.reenact("replay", "@", *how)
        assert played.code == 0 and b"input: Why? (turn 1 of 1)" in played.err, played.err.decode()


def test_what_leaves_again_is_what_came(bring: Bring, store: Store) -> None:
    (run,) = bring("vcr", CASSETTE)
    written = write("json", store.open(run))
    assert (written.exchanges, KEY.encode() in written.data) == (2, False)
    assert written.lost == {"exchanges with stand-ins in place of credentials": 2}
    (again,) = bring("json", written.data.decode())
    assert reenact.compare(run, again, store=store).first_difference is None


def test_a_replay_says_what_was_kept_otherwise_than_it_crossed_the_wire(bring: Bring, store: Store) -> None:
    (run,) = bring("vcr", CASSETTE)
    with pytest.raises(UnreplayableRun, match="was imported"):
        reenact.replay(run, store=store)
    report = reenact.replay(run, entry=lambda: None, store=store).report
    assert "imported: the body was kept parsed: it has the same content, not the same bytes (1)" in report.remarks
    assert report.unused == 2
