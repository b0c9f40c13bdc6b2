"""A recorded call of each protocol's real SDK is sent again byte for byte, with today's key, and kept as a child."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from reenact.timetravel.resending.signing import signed
from tests.resending.conftest import KEYS, Sender

LOOK = {"type": "object", "properties": {"city": {"type": "string"}}}


def openai_chat() -> None:
    openai = pytest.importorskip("openai")
    said: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Wetter in Málaga?"}]
    openai.OpenAI().chat.completions.create(model="gpt-4o-mini", messages=said, seed=7, temperature=1)


def openai_stream() -> None:
    openai = pytest.importorskip("openai")
    said: list[Any] = [{"role": "user", "content": "weather?"}]
    parts = openai.OpenAI().chat.completions.create(model="gpt-4o-mini", messages=said, stream=True)
    assert list(parts)


def openai_responses() -> None:
    openai = pytest.importorskip("openai")
    openai.OpenAI().responses.create(model="gpt-4o-mini", input="weather?", store=False)


def anthropic_messages() -> None:
    anthropic = pytest.importorskip("anthropic")
    said: list[Any] = [{"role": "user", "content": "weather?"}]
    anthropic.Anthropic().messages.create(model="claude-haiku-4-5", max_tokens=99, messages=said, system="Be brief.")


def gemini() -> None:
    genai = pytest.importorskip("google.genai")
    options = genai.types.HttpOptions(base_url=os.environ["WORLD"])
    client = genai.Client(api_key="another-key-of-that-day", http_options=options)
    client.models.generate_content(model="gemini-x", contents="weather?")


def mistral() -> None:
    module = pytest.importorskip("mistralai.client")
    client = module.Mistral(api_key="another-key-of-that-day", server_url=os.environ["WORLD"])
    client.chat.complete(model="mistral-x", messages=[{"role": "user", "content": "weather?"}], random_seed=7)


def ollama_chat() -> None:
    module = pytest.importorskip("ollama")
    said = [{"role": "user", "content": "weather?"}]
    module.Client(os.environ["WORLD"]).chat(model="llama-x", messages=said, options={"seed": 7})


def bedrock() -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "bedrock-runtime", region_name="eu-west-1", endpoint_url=os.environ["WORLD"],
        aws_access_key_id="AKIATHATDAYSKEY00000", aws_secret_access_key="of-that-day",
    )  # fmt: skip
    client.converse(modelId="amazon.nova-x-v1:0", messages=[{"role": "user", "content": [{"text": "weather?"}]}])


SENT: list[Any] = [
    (openai_chat, "authorization", f"Bearer {KEYS['OPENAI_API_KEY']}"),
    (openai_stream, "authorization", f"Bearer {KEYS['OPENAI_API_KEY']}"),
    (openai_responses, "authorization", f"Bearer {KEYS['OPENAI_API_KEY']}"),
    (anthropic_messages, "", KEYS["ANTHROPIC_API_KEY"]),
    (gemini, "x-goog-api-key", KEYS["GEMINI_API_KEY"]),
    (ollama_chat, "authorization", None),
]


@pytest.mark.parametrize(("ask", "header", "key"), SENT, ids=[each[0].__name__ for each in SENT])
def test_the_same_bytes_go_out_with_the_key_of_today(
    desk: Sender, ask: Callable[[], None], header: str, key: str | None
) -> None:
    run = desk.record(ask, user="ann", tenant="acme")
    answer = desk.resend(f"{run}:0", "--check")
    assert "equal to the recorded body" in answer.out and desk.provider.url in answer.err
    (path, before, body), (path_now, headers, body_now) = desk.seen
    assert (path_now, body_now) == (path, body)
    if not header:  # the one that this version of the SDK has used
        header = next(name for name in ("x-api-key", "authorization") if name in before)
        key = f"Bearer {key}" if header == "authorization" else key
    assert headers.get(header) == key
    assert headers.get("user-agent") == before.get("user-agent")
    assert headers.get("anthropic-version") == before.get("anthropic-version")
    with desk.store() as store:
        child = store.run("@")
        assert (child.parent or "").endswith(run) and child.relation == "resend"
        assert child.environment["resend"] == {"event": 0}
        assert (child.agent, child.version, child.user, child.tenant) == ("desk", "7", "ann", "acme")
        event = store.open(child).event(0)
        assert store.open(child).body(event.request) == body
    if key is not None:
        data = (desk.folder / "runs.db").read_bytes() + (desk.folder / "runs.db-wal").read_bytes()
        assert key.removeprefix("Bearer ").encode() not in data


def test_a_key_whose_variable_the_recording_does_not_name_is_named_by_hand(desk: Sender) -> None:
    """Mistral's protocol is OpenAI's, and a host of one's own does not say whose it is."""
    run = desk.record(mistral)
    desk.resend(f"{run}:0", "--check", "--key-env", "MISTRAL_API_KEY")
    (_, _, body), (_, headers, body_now) = desk.seen
    assert body_now == body and headers["authorization"] == f"Bearer {KEYS['MISTRAL_API_KEY']}"


def test_bedrock_is_signed_anew_for_the_same_model_and_region(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    run = desk.record(bedrock)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATODAYSKEY0000000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-today")
    answer = desk.resend(f"{run}:0", "--check")
    assert "signed for eu-west-1" in answer.err
    (path, before, body), (path_now, headers, body_now) = desk.seen
    assert (path_now, body_now) == (path, body) and "amazon.nova-x-v1" in path
    assert "Credential=AKIATODAYSKEY0000000/" in headers["authorization"]
    assert "/eu-west-1/bedrock/aws4_request" in headers["authorization"]
    assert headers["authorization"] != before["authorization"]


def test_without_credentials_bedrock_is_not_asked(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.record(bedrock)
    assert "AWS_REGION is not set" in desk.resend(f"{run}:0", code=3).err
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(desk.folder / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(desk.folder / "none"))
    answer = desk.resend(f"{run}:0", code=3)
    assert "no AWS credentials" in answer.err and len(desk.seen) == 1


def test_a_signature_is_the_one_that_boto_makes(desk: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider would refuse any other: what boto signed then is signed again with the same key and moment."""
    time_machine = pytest.importorskip("time_machine")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATHATDAYSKEY00000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-that-day")
    with time_machine.travel(1_790_000_000, tick=False):
        bedrock()
        path, headers, body = desk.seen[-1]
        names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        kept = {name: headers[name] for name in names if name not in ("host", "x-amz-date")}
        again = signed("POST", f"{desk.provider.url}{path}", kept, body, "eu-west-1")
    assert again["Authorization"] == headers["authorization"]
