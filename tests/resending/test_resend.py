"""What is sent again goes to today's host alone, says first its cost and whether it was rebuilt; answers compare."""

from __future__ import annotations

import json
import os
import shutil
import socket
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import reenact
from reenact.facts.reading import Reading
from reenact.interfaces.cli.commands import resend as command
from reenact.timetravel.resending.answer_comparison import distance, tokens_of
from tests.interop.spans import chat, span, text
from tests.resending.conftest import KEYS, Sender
from tests.resending.test_protocols import openai_chat


def ask(url: str, body: dict[str, Any], **headers: str) -> None:
    """One request as any program makes it."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers}, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


SAID: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "weather?"}], "temperature": 0}


def chat_url(desk: Sender) -> str:
    return f"{desk.provider.url}/v1/chat/completions"


def test_each_answer_is_shown_beside_the_recorded_one(desk: Sender) -> None:
    run = desk.record(openai_chat)
    answer = desk.resend(f"{run}:0", "--n", "3", "--param", "seed=8", "--prompt", "Please refuse.", "--json")
    target, recorded, *now = answer.data
    assert target["url"] == chat_url(desk) and target["times"] == 3 and target["key"] == "OPENAI_API_KEY"
    assert recorded["seed"] == 7 and recorded["fingerprint"].startswith("fp_") and "Oslo" in recorded["text"]
    assert [each["seed"] for each in now] == [8, 8, 8] and {each["text"] for each in now} == {"I know nothing."}
    words = len(tokens_of(Reading("", text=recorded["text"])))
    assert {each["distance"] for each in now} == {max(words, 4)}
    assert len({each["run"] for each in now}) == 3
    with desk.store() as store:
        for each in now:
            kept = store.run(each["run"])
            assert kept.environment["resend"] == {"event": 0, "prompt": "Please refuse.", "params": {"seed": 8}}
    for _, _, body in desk.seen[1:]:
        sent = json.loads(body)
        assert sent["messages"][0] == {"role": "system", "content": "Please refuse."} and sent["seed"] == 8
    tree = desk.run("ls", "--tree").out
    assert tree.count("resend at #0") == 3 and "├─" in tree
    side = desk.resend(f"{run}:0", "--model", "gpt-4o").out
    assert "DISTANCE" in side and " | " in side and "gpt-4o-" in side


def test_in_a_narrow_terminal_each_fact_is_a_line(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.record(openai_chat)
    assert "\nthen  " in desk.resend(f"{run}:0").out
    monkeypatch.setenv("COLUMNS", "80")
    table = desk.resend(f"{run}:0").out.partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80 and table[0].split() == ["then", "now", "1"]
    assert [line.split()[0] for line in table[1:4]] == ["RUN", "MODEL", "SEED"] and table[3].split() == [
        "SEED",
        "7",
        "7",
    ]
    many = desk.resend(f"{run}:0", "--n", "9").out
    assert "\nnow 9  " in many, "where neither fits, each answer is a line"


def test_a_body_that_differs_is_not_sent(desk: Sender) -> None:
    run = desk.record(openai_chat)
    answer = desk.resend(f"{run}:0", "--check", "--param", "temperature=0", code=1)
    assert "differs from the recorded body" in answer.out and "nothing was sent" in answer.out
    assert len(desk.seen) == 1
    assert desk.resend(f"{run}:0", "--check", "--json", "--dry-run").data[0]["equal"] is True
    assert len(desk.seen) == 1


def test_a_check_needs_no_key_and_no_host(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.record(openai_chat)
    monkeypatch.delenv("OPENAI_API_KEY")
    answer = desk.resend(f"{run}:0", "--check")
    assert "equal to the recorded body" in answer.out and "not sent: OPENAI_API_KEY is not set" in answer.err
    assert "export OPENAI_API_KEY" in desk.resend(f"{run}:0", code=3).err
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "WORLD"):
        monkeypatch.delenv(name)
    assert "only the recording names this host" in desk.resend(f"{run}:0", "--check").err
    answer = desk.resend(f"{run}:0", code=5)
    assert "only the recording names this host" in answer.err and "export OPENAI_BASE_URL=" in answer.err
    assert len(desk.seen) == 1


def test_it_goes_where_today_points(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.record(openai_chat)
    with type(desk.provider)(desk.provider.script) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{other.url}/v1")
        assert "by OPENAI_BASE_URL" in desk.resend(f"{run}:0").err
        assert len(other.seen) == 1 and len(desk.seen) == 1
        assert other.seen[0][1]["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"


@pytest.mark.parametrize("to", ["{}", "{}/v1", "{}/v1/", "{}/v1/chat/completions"])
def test_another_address_gets_no_key_that_was_not_named(desk: Sender, to: str) -> None:
    run = desk.record(openai_chat)
    with type(desk.provider)(desk.provider.script) as other:
        desk.resend(f"{run}:0", "--to", to.format(other.url), code=1)  # it wants a key
        desk.resend(f"{run}:0", "--to", to.format(other.url), "--key-env", "MISTRAL_API_KEY")
        (path, bare, _), (_, keyed, body) = other.seen
    assert path == "/v1/chat/completions" and "authorization" not in bare
    assert not any(key in str(bare) for key in KEYS.values())
    assert keyed["authorization"] == f"Bearer {KEYS['MISTRAL_API_KEY']}" and body == desk.seen[0][2]


@pytest.mark.parametrize("to", ["ftp://127.0.0.1/v1", "127.0.0.1:9/v1", "http://", "http://u:p@127.0.0.1/"])
def test_what_is_no_address_is_usage(desk: Sender, to: str) -> None:
    run = desk.record(openai_chat)
    assert "is no web address" in desk.resend(f"{run}:0", "--to", to, code=2).err


def test_a_redirect_is_not_followed(desk: Sender) -> None:
    """It would carry the key to a host that nothing of today names."""
    run = desk.record(openai_chat)

    class Redirects(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(307)
            self.send_header("location", chat_url(desk))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirects)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        answer = desk.resend(f"{run}:0", "--to", address, "--key-env", "OPENAI_API_KEY", "--json", code=1)
    finally:
        server.shutdown()
        server.server_close()
    assert answer.data[-1]["status"] == 307 and len(desk.seen) == 1


def test_a_host_that_does_not_answer_is_said_and_kept(desk: Sender) -> None:
    run = desk.record(openai_chat)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    answer = desk.resend(f"{run}:0", "--to", address, code=1)
    assert "did not answer" in answer.out and "refused" in answer.out
    assert desk.run("--json", "ls", "--failed").data[0]["relation"] == "resend"


def test_what_acts_at_the_provider_is_refused(desk: Sender) -> None:
    import openai

    run = desk.record(lambda: openai.OpenAI().responses.create(model="gpt-4o-mini", input="weather?"))
    answer = desk.resend(f"{run}:0", code=5)
    assert "is stored at its provider" in answer.err and "--param store=false" in answer.err
    desk.resend(f"{run}:0", "--param", "store=false")
    assert json.loads(desk.seen[1][2])["store"] is False
    hosted = {**SAID, "tools": [{"type": "web_search"}]}
    run = desk.record(lambda: ask(chat_url(desk), hosted, authorization="Bearer k9dl2ksl0fks92"))
    assert "may change the world" in desk.resend(f"{run}:0", code=5).err
    assert len(desk.seen) == 3


def test_a_body_that_redaction_touched_is_rebuilt(desk: Sender) -> None:
    secret = "sk-proj-" + "9fK2" * 12
    body = {**SAID, "messages": [{"role": "user", "content": f"my key is {secret}"}]}
    run = desk.record(lambda: ask(chat_url(desk), body, authorization="Bearer k9dl2ksl0fks92"))
    answer = desk.resend(f"{run}:0", "--check", code=3)
    assert "does not have the exact body" in answer.err and "redaction" in answer.err and len(desk.seen) == 1
    answer = desk.resend(f"{run}:0")
    assert answer.err.splitlines()[0].startswith("reenact: rebuilt: redaction has replaced a credential")
    assert secret.encode() not in desk.seen[1][2] and b"my key is ~rx" in desk.seen[1][2]
    assert desk.run("--json", "ls").data[0]["run"]


def test_what_is_no_request_to_a_provider_is_usage(desk: Sender) -> None:
    @reenact.model
    def think(prompt: str) -> str:
        return prompt

    @reenact.tool(effect="read")
    def look(city: str) -> str:
        return city

    run = desk.record(lambda: (think("x"), look("Oslo")))
    assert "asks a model of the program itself" in desk.resend(f"{run}:think#1", code=2).err
    assert "(look) asks no model: there is no request" in desk.resend(f"{run}:1", code=2).err
    assert "names a run; resend takes one model call" in desk.resend(run, code=2).err
    assert "has no event 9" in desk.resend(f"{run}:9", code=2).err
    asking = desk.record(lambda: reenact.model(name="ask")(openai_chat)())
    assert f"next: reenact --store {desk.url} resend {asking}:1\n" in desk.resend(f"{asking}:ask#1", code=2).err
    assert desk.resend(f"{asking}:1", "--check").code == 0


def test_cost_and_target_come_before_anything_is_sent(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("genai_prices")
    run = desk.record(openai_chat)
    with desk.store() as store:
        recording = store.open(store.run(run))
        before = command._recorded(recording, recording.event(0))
    assert before is not None
    known = Reading("openai.chat", provider="openai", model_asked="gpt-4o-mini", usage=before.usage)
    monkeypatch.setattr(command, "_recorded", lambda *_: known)
    answer = desk.resend(f"{run}:0", "--n", "5", "--dry-run", "--json")
    one = 0.15e-6 * before.usage["tokens_in"] + 0.6e-6 * before.usage["tokens_out"]
    assert answer.data[0]["cost"] == pytest.approx(5 * one, rel=1e-6)
    dearer = desk.resend(f"{run}:0", "--n", "5", "--model", "gpt-4o", "--dry-run", "--json").data[0]["cost"]
    assert dearer > 10 * answer.data[0]["cost"]
    assert len(desk.seen) == 1
    told = desk.resend(f"{run}:0", "--n", "5", "--dry-run").err.splitlines()
    assert told[-1].startswith("next: reenact --store ") and told[-1].endswith(f" resend {run}:0 --n 5"), (
        "what was shown is what is sent"
    )
    assert told[0].startswith("reenact: target: POST ") and told[1].startswith("reenact: cost: about $")
    assert "(5 times $" in told[1]
    then, now = desk.resend(f"{run}:0", "--json").data[1:]
    assert then["cost"] == pytest.approx(one, rel=1e-6) and then["duration_us"] > 0 and now["cost"] is None


# --- runs of other people ------------------------------------------------------------------------------------------


def imported(desk: Sender, form: str, name: str, data: str) -> str:
    (desk.folder / name).write_text(data, encoding="utf-8")
    answer = desk.run("import", form, name, "--json")
    assert answer.code == 0, answer.err
    return str(desk.run("--json", "ls").data[0]["run"])[-8:]


CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}
TRACE = text(
    span(1, "invoke_agent desk", took=90, says={"gen_ai.operation.name": "invoke_agent"}),
    chat(2, 1, says={
        "gen_ai.provider.name": "openai",
        "gen_ai.request.seed": 7,
        "server.address": "api.x.example",
        "gen_ai.input.messages": json.dumps([
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {"role": "user", "parts": [{"type": "text", "content": "weather?"}]},
            {"role": "assistant", "parts": [CALL]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "fog"}]},
        ]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Fog."}]}]),
    }),
)  # fmt: skip


def test_a_call_of_a_trace_is_rebuilt_for_its_protocol(desk: Sender) -> None:
    run = imported(desk, "otlp", "trace.json", TRACE)
    with desk.store() as store:
        number = next(event.number for event in store.events(run) if event.kind == "model")
    ref = f"{run}:{number}"
    answer = desk.resend(ref, "--check", code=3)
    assert "a trace keeps what was said, not the bytes" in answer.err and not desk.seen
    answer = desk.resend(ref)
    assert answer.err.startswith("reenact: rebuilt: a trace keeps what was said")
    ((path, headers, body),) = desk.seen
    sent = json.loads(body)
    assert path == "/v1/chat/completions" and headers["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"
    assert [each["role"] for each in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"city": "Oslo"}'}
    assert sent["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "fog"}
    assert sent["seed"] == 7 and "fog in Oslo" in answer.out
    with desk.store() as store:
        assert store.run("@").environment["resend"]["rebuilt"].startswith("a trace keeps")


@pytest.mark.parametrize("provider", ["perplexity", "moonshot_ai", "ibm.watsonx.ai"])
def test_a_trace_of_a_provider_that_is_not_known_goes_to_nobody_else(
    desk: Sender, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It speaks OpenAI's protocol, which does not make it OpenAI."""
    run = imported(desk, "otlp", "trace.json", TRACE.replace('"openai"', f'"{provider}"'))
    monkeypatch.delenv("OPENAI_BASE_URL")
    with desk.store() as store:
        number = next(event.number for event in store.events(run) if event.kind == "model")
    answer = desk.resend(f"{run}:{number}", code=5)
    assert "nothing is sent to" in answer.err and "export OPENAI_BASE_URL=https://" in answer.err and not desk.seen


def har(url: str, said: object = None) -> str:
    body = json.dumps(said or SAID)
    entry = {
        "startedDateTime": "2026-11-01T10:00:00.000Z", "time": 5, "cache": {},
        "timings": {"send": 1, "wait": 3, "receive": 1},
        "request": {
            "method": "POST", "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "queryString": [],
            "headersSize": -1,
            "headers": [{"name": "content-type", "value": "application/json"}], "bodySize": len(body),
            "postData": {"mimeType": "application/json", "text": body},
        },
        "response": {
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "redirectURL": "",
            "headers": [{"name": "content-type", "value": "application/json"}], "headersSize": -1, "bodySize": 2,
            "content": {"size": 2, "mimeType": "application/json", "text": "{}"},
        },
    }  # fmt: skip
    log = {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": [entry]}
    return json.dumps({"log": log})


GEMINI = {"contents": [{"role": "user", "parts": [{"text": "weather?"}]}]}


@pytest.mark.parametrize(
    ("region", "today", "host"),
    [
        ("eu-west-1", "us-east-1", "bedrock-runtime.eu-west-1.amazonaws.com"),
        ("moon", "us-east-1", "bedrock-runtime.us-east-1.amazonaws.com"),
    ],
)
def test_a_logged_call_of_bedrock_goes_to_its_own_region(
    desk: Sender, region: str, today: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And to that of today where the log names none; what is no region is no part of a host."""
    row = {
        "schemaType": "ModelInvocationLog", "requestId": "r1", "operation": "Converse", "region": region,
        "timestamp": "2026-11-20T10:00:00Z", "modelId": "amazon.nova-micro-v1:0",
        "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "weather?"}]}]}},
        "output": {"outputBodyJson": {"output": {"message": {"role": "assistant", "content": [{"text": "Fog."}]}}}},
    }  # fmt: skip
    run = imported(desk, "bedrock", "log.json", json.dumps(row))
    monkeypatch.setenv("AWS_REGION", today)
    (target,) = desk.resend(f"{run}:0", "--dry-run", "--json").data
    assert target["url"] == f"https://{host}/model/amazon.nova-micro-v1%3A0/converse"
    assert target["region"] == host.split(".")[1]


def asked_at(desk: Sender, provider: str, model: str, server: str = "api.x.example") -> str:
    """The model call of an imported trace that names a provider, a model and a server."""
    trace = TRACE.replace('"openai"', f'"{provider}"').replace("gpt-4o-mini", model).replace("api.x.example", server)
    assert server in trace
    run = imported(desk, "otlp", "trace.json", trace)
    with desk.store() as store:
        return f"{run}:{next(event.number for event in store.events(run) if event.kind == 'model')}"


@pytest.mark.parametrize(
    ("server", "region"),
    [("bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"), ("[moon", "us-east-1"), ("x.example", "us-east-1")],
)
def test_a_trace_of_bedrock_goes_to_the_region_of_its_server(
    desk: Sender, server: str, region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    (target,) = desk.resend(asked_at(desk, "aws.bedrock", "amazon.nova-x-v1:0", server), "--dry-run", "--json").data
    assert target["url"].startswith(f"https://bedrock-runtime.{region}.amazonaws.com/model/amazon.nova-x")


def test_a_trace_of_azure_goes_to_the_resource_that_the_configuration_names(
    desk: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = asked_at(desk, "azure.ai.openai", "gpt-5.4")
    refused = desk.resend(ref, code=5).err
    assert "nothing is sent to azure: no variable of today says where it is" in refused
    assert "next: export AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com\n" in refused
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key-of-today-7f3k2")
    for base in ("https://desk.openai.azure.com/", "https://desk.openai.azure.com/openai/v1"):
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", base)
        said = desk.resend(ref, "--dry-run").err
        assert "POST https://desk.openai.azure.com/openai/v1/chat/completions (by AZURE_OPENAI_ENDPOINT)" in said
        assert "with AZURE_OPENAI_API_KEY" in said
    assert not desk.seen


def test_an_address_of_azure_in_a_file_is_kept_but_for_its_host(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/openai/deployments/small/chat/completions?api-version=2024-10-21"
    run = imported(desk, "har", "a.har", har(f"https://theirs.openai.azure.com{path}"))
    refused = desk.resend(f"{run}:0", code=5).err
    assert "only the recording names this host" in refused
    assert "next: export AZURE_OPENAI_ENDPOINT=https://theirs.openai.azure.com\n" in refused
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key-of-today-7f3k2")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com")
    assert (
        f"POST https://ours.openai.azure.com{path} (by AZURE_OPENAI_ENDPOINT)"
        in desk.resend(f"{run}:0", "--dry-run").err
    )


def test_a_trace_of_vertex_goes_to_vertex_and_to_nothing_else_of_google(
    desk: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = asked_at(desk, "gcp.vertex_ai", "gemini-2.5-pro")
    for name, value in (
        ("GOOGLE_CLOUD_PROJECT", "shop-7"),
        ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
        ("GOOGLE_OAUTH_ACCESS_TOKEN", "ya29.today-7f3k2"),
    ):
        refused = desk.resend(ref, code=3).err
        assert f"{name} is not set" in refused and f"next: export {name}=" in refused and "=…" not in refused
        monkeypatch.setenv(name, value)
    path = "/v1/projects/shop-7/locations/europe-west4/publishers/google/models/gemini-2.5-pro:generateContent"
    said = desk.resend(ref, "--dry-run").err
    assert (
        f"POST https://europe-west4-aiplatform.googleapis.com{path} (by GOOGLE_CLOUD_LOCATION), with GOOGLE_OAUTH"
        in said
    )
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "global")
    assert (
        "POST https://aiplatform.googleapis.com/v1/projects/shop-7/locations/global/"
        in desk.resend(ref, "--dry-run").err
    )
    assert f"POST http://127.0.0.1:9{path}" in desk.resend(ref, "--dry-run", "--to", f"http://127.0.0.1:9{path}").err
    run = imported(desk, "har", "a.har", har(f"https://europe-west4-aiplatform.googleapis.com{path}", GEMINI))
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    assert f"POST https://europe-west4-aiplatform.googleapis.com{path}" in desk.resend(f"{run}:0", "--dry-run").err
    other = asked_at(desk, "gcp.vertex_ai", "claude-sonnet-4-5")
    assert "it asks claude-sonnet-4-5 at Vertex AI" in desk.resend(other, code=2).err and not desk.seen


def test_an_exact_body_of_an_imported_file_is_checked_and_goes_to_the_configured_host(desk: Sender) -> None:
    run = imported(desk, "har", "a.har", har("https://api.openai.com/v1/chat/completions"))
    answer = desk.resend(f"{run}:0", "--check")
    assert "equal to the recorded body" in answer.out and "by OPENAI_BASE_URL" in answer.err
    ((_, headers, body),) = desk.seen
    assert json.loads(body) == SAID and headers["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"


@pytest.mark.parametrize(
    "host",
    ["https://collector.example.net", "http://api.openai.com", "https://api.openai.com.example.net",
     "https://bucket.s3.amazonaws.com", "http://127.0.0.1:9"],
)  # fmt: skip
def test_a_host_that_only_a_file_names_gets_nothing(desk: Sender, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = imported(desk, "har", "a.har", har(f"{host}/v1/chat/completions"))
    answer = desk.resend(f"{run}:0", "--dry-run")
    assert f"target: POST {chat_url(desk)} (by OPENAI_BASE_URL)" in answer.err, "the protocol's own configuration"
    monkeypatch.delenv("OPENAI_BASE_URL")
    answer = desk.resend(f"{run}:0", code=5)
    assert "only the recording names this host" in answer.err and not desk.seen


def test_a_bundle_does_not_choose_the_host_or_the_key(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.record(openai_chat)
    assert desk.run("pack", run, "-o", "run.reenact").code == 0
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]), ignore_errors=True)
    desk.url = f"sqlite:///{desk.folder / 'other.db'}"
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    monkeypatch.delenv("WORLD")
    answer = desk.resend("run.reenact:0", code=5)
    assert "only the recording names this host" in answer.err
    monkeypatch.setenv("OPENAI_BASE_URL", f"{desk.provider.url}/v1")
    desk.resend("run.reenact:0", "--check")
    assert desk.seen[1][2] == desk.seen[0][2]


# --- how far apart -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "far"),
    [
        ("", "", 0), ("a b c", "a b c", 0), ("a b c", "a x c", 1), ("a b c", "a c", 1), ("a", "b c d", 3),
        ("the order is late.", "The order is not late!", 3), ("x " * 50, "", 50), ("明日は 晴れ", "明日は 雨", 1),
    ],
)  # fmt: skip
def test_the_distance_is_the_fewest_changes_of_tokens(before: str, after: str, far: int) -> None:
    left, right = (tokens_of(Reading("", text=each)) for each in (before, after))
    assert distance(left, right) == distance(right, left) == far


def test_another_tool_call_is_a_difference() -> None:
    def calls(*told: Mapping[str, Any]) -> list[str]:
        return tokens_of(Reading("", tool_calls=tuple(told)))

    left = calls({"name": "look", "arguments": '{"a": 1, "b": 2}'})
    assert distance(left, calls({"name": "look", "arguments": {"b": 2, "a": 1}})) == 0
    assert distance(left, calls({"name": "look", "arguments": {"a": 1, "b": 3}})) == 1
    assert distance(left, calls({"name": "find", "arguments": {"a": 1, "b": 2}})) == 1
    assert distance(left, []) == len(left)
