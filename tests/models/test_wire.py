"""Real provider traffic is recognised and read: what was asked, what was answered, how many tokens it took.

The traffic is found through REENACT_SHARED, or in a folder ``shared`` beside the checkout; else these tests skip.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import brotli
import pytest
import yaml
import zstandard

from reenact.facts.dialects import read, recognise, stateless_model_request
from reenact.facts.reading import Reading

SHARED = Path(os.environ.get("REENACT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
WIRE = SHARED / "data" / "wire"
pytestmark = pytest.mark.skipif(not WIRE.is_dir(), reason="no provider traffic: REENACT_SHARED names no such folder")

Exchange = tuple[dict[str, Any], bytes, dict[str, Any], bytes]


def encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else str(body or "").encode()


def plain(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a cassette as (call head, body, response head, response bytes)."""
    found = []
    for one in yaml.safe_load((WIRE / name).read_text())["interactions"]:
        request, response = one["request"], one["response"]
        headers = [[key, plain(value)] for key, values in request["headers"].items() for value in values]
        head = {"method": request["method"], "url": request["uri"], "headers": headers}
        body = json.dumps(request["parsed_body"]).encode() if "parsed_body" in request else encoded(request.get("body"))
        given = response.get("parsed_body")
        data = json.dumps(given).encode() if given is not None else encoded(response["body"]["string"])
        pairs = [[key, value] for key, values in response["headers"].items() for value in values]
        answer = {"status": response["status"]["code"], "headers": pairs, "framing": "payload"}
        found.append((head, body, answer, data))
    return found


def readings(name: str) -> list[Reading]:
    out = []
    for exchange in exchanges(name):
        reading = read(*exchange)
        if reading is not None:
            out.append(reading)
            assert recognise(exchange[0], exchange[1]) == reading.dialect
            assert Reading.from_json(json.loads(json.dumps(reading.to_json()))) == reading
    return out


def test_openai_chat_streamed() -> None:
    first, second = readings("openai__test_run_stream_sync_streams_real_model.yaml")
    assert (first.dialect, first.provider, first.model_asked) == ("openai.chat", "openai", "gpt-4o-mini")
    assert first.model_answered == "gpt-4o-mini-2024-07-18"
    assert first.params["fingerprint"] == "fp_d0469e1700"
    assert first.tool_calls == (
        {"id": "call_ZR5UUuTt3pf61kjwAJIYdVMj", "name": "get_capital", "arguments": '{"country":"UK"}'},
    )
    assert (first.finish, first.streamed, first.partial, first.stateless) == ("tool_calls", True, False, True)
    assert first.usage == {"tokens_in": 53, "input": 53, "tokens_out": 15, "output": 15, "cached": 0, "reasoning": 0}
    assert [one["name"] for one in first.tools] == ["get_capital"] and first.tools_hash == second.tools_hash != ""
    assert second.messages[1]["tool_calls"][0]["name"] == "get_capital"
    assert second.messages[2]["tool_results"] == [{"id": "call_ZR5UUuTt3pf61kjwAJIYdVMj", "text": "London"}]
    assert "London" in second.text and second.finish == "stop"


@pytest.mark.parametrize(
    "name", ["openai__test_openai_tool_output.yaml", "openai__test_multiple_agent_tool_calls.yaml"]
)
def test_openai_chat_at_once(name: str) -> None:
    found = [one for one in readings(name) if one.dialect == "openai.chat"]
    assert len(found) == 2
    assert all(one.model_answered.startswith("gpt-4o") and one.usage["tokens_in"] > 0 for one in found)
    assert all(one.tool_calls or one.text for one in found)
    assert not any(one.partial or one.streamed for one in found)


def test_gemini_at_once() -> None:
    first, second = readings("google__test_google_tool_output.yaml")
    assert (first.dialect, first.provider, first.model_asked) == ("google.gemini", "google", "gemini-2.0-flash")
    assert (first.model_answered, first.finish, first.stateless) == ("gemini-2.0-flash", "STOP", True)
    assert first.tool_calls == ({"id": "", "name": "get_user_country", "arguments": {}},)
    assert [one["name"] for one in first.tools] == ["get_user_country", "final_result"] and first.tools_hash
    assert first.usage == {"tokens_in": 33, "input": 33, "tokens_out": 5, "output": 5}
    result = second.messages[2]["tool_results"][0]
    assert result == {"id": "pyd_ai_3fa5644dae1d4aad997ae39c70006fbd", "text": '{"return_value":"Mexico"}'}
    assert second.tool_calls[0]["arguments"] == {"city": "Mexico City", "country": "Mexico"}
    assert not any(one.partial or one.streamed or one.error for one in (first, second))


def test_gemini_streamed_with_thoughts() -> None:
    first, second = readings("google__test_google_streaming_tool_call_thought_signature.yaml")
    assert (first.model_asked, first.streamed, first.partial) == ("gemini-3-pro-preview", True, False)
    assert first.tool_calls == ({"id": "", "name": "get_country", "arguments": {}},)
    assert first.usage == {"tokens_in": 29, "input": 29, "tokens_out": 212, "output": 212, "reasoning": 202}
    assert first.tools[0]["schema"] == {"additionalProperties": False, "properties": {}, "type": "object"}
    assert (second.text, second.finish) == ("The capital of Mexico is Mexico City.", "STOP")
    assert [one["role"] for one in second.messages] == ["user", "assistant", "user"]


def test_bedrock_converse_streamed_in_binary_frames() -> None:
    first, second = readings("bedrock__test_bedrock_model_iter_stream.yaml")
    assert (first.dialect, first.provider, first.region) == ("bedrock.converse", "bedrock", "us-east-1")
    assert (first.model_asked, first.system) == ("us.amazon.nova-micro-v1:0", "You are a helpful chatbot.")
    assert (first.params["top_p"], first.stateless, first.streamed, first.partial) == (0.5, True, True, False)
    assert first.text.startswith("<thinking> To find the temperature of the capital of France, I need")
    (call,) = first.tool_calls
    assert (call["id"], call["name"], json.loads(call["arguments"])) == (
        "tooluse_lAG_zP8QRHmSYOwZzzaCqA",
        "get_temperature",
        {"city": "Paris"},
    )
    assert [one["name"] for one in first.tools] == ["get_capital", "get_temperature"] and first.tools_hash
    assert second.text == "The current temperature in Paris, the capital of France, is 30°C."
    assert (second.finish, second.usage["tokens_in"], second.usage["tokens_out"]) == ("end_turn", 577, 18)
    assert second.messages[-1]["tool_results"] == [{"id": "tooluse_lAG_zP8QRHmSYOwZzzaCqA", "text": "30°C"}]


def test_bedrock_refusal() -> None:
    (one,) = readings("bedrock__test_bedrock_streaming_error.yaml")
    assert one.model_asked == "us.does-not-exist-model-v1:0"
    assert one.error is not None and one.error["message"] == "The provided model identifier is invalid."


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_cut_binary_stream_gives_what_had_arrived(cut: int) -> None:
    head, body, answer, data = exchanges("bedrock__test_bedrock_model_iter_stream.yaml")[1]
    whole = read(head, body, answer, data)
    found = read(head, body, answer, data[: len(data) * cut // 40])
    assert whole is not None and found is not None
    assert found.partial and whole.text.startswith(found.text)


def test_openai_responses_streamed() -> None:
    first, second = readings("openai_responses__test_openai_responses_stream.yaml")
    assert first.dialect == "openai.responses" and first.streamed and not first.partial
    assert first.tool_calls == (
        {"id": "call_kL0PCQV7M2WMoVX8V8OtYSAL", "name": "get_capital", "arguments": '{"country":"France"}'},
    )
    assert second.text == "The capital of France is Paris."
    assert (second.finish, second.usage["tokens_in"], second.usage["tokens_out"]) == ("completed", 278, 9)
    assert [one["role"] for one in second.messages] == ["user", "assistant", "tool"]
    assert not first.stateless  # responses are stored unless one says not to


def test_a_cut_responses_stream_gives_what_had_arrived() -> None:
    head, body, answer, data = exchanges("openai_responses__test_openai_responses_stream.yaml")[1]
    cut = data[: data.index(b"event: response.output_text.done")]
    reading = read(head, body, answer, cut)
    assert reading is not None and reading.partial
    assert reading.text == "The capital of France is Paris."
    assert reading.model_answered == "gpt-4o-2024-08-06"


def test_openai_responses_with_reasoning_and_conversation() -> None:
    first, second = readings("openai_responses__test_openai_responses_thinking_with_tool_calls.yaml")
    assert first.thinking and first.usage["reasoning"] > 0
    assert first.tool_calls and any("tool_results" in one for one in second.messages)
    for one in readings("openai_responses__test_openai_conversation_id_tool_call_continuation.yaml"):
        assert one.params["conversation"] and not one.stateless


def test_anthropic_streamed_with_thinking() -> None:
    (one,) = readings("anthropic__test_anthropic_model_thinking_part_stream.yaml")
    assert (one.dialect, one.provider, one.model_asked) == ("anthropic.messages", "anthropic", "claude-sonnet-4-0")
    assert one.model_answered == "claude-sonnet-4-20250514"
    assert one.thinking.startswith("This is a straightforward question about pedestrian safety.")
    assert one.text.startswith("Here are the basic") and one.finish == "end_turn"
    assert one.params["max_tokens"] == 4096 and one.usage["tokens_in"] == 43 and one.usage["tokens_out"] > 1


def test_anthropic_hosted_tools_make_a_write() -> None:
    (one,) = readings("anthropic__test_anthropic_code_execution_tool_stream.yaml")
    assert not one.stateless and one.streamed and one.text
    assert one.tool_calls == ()


def test_anthropic_at_once() -> None:
    first, second = readings("anthropic__test_multiple_parallel_tool_calls.yaml")
    assert first.system and len(first.tool_calls) > 1 and first.finish == "tool_use"
    assert len(second.messages[-1]["tool_results"]) == len(first.tool_calls)
    assert all(one.stateless for one in (first, second))
    thinking = readings("anthropic__test_anthropic_tool_with_thinking.yaml")
    assert len(thinking) == 2 and thinking[0].thinking and thinking[0].tool_calls


def test_wire_compatible_servers_and_their_errors() -> None:
    (one,) = readings("groq__test_tool_regular_error.yaml")
    assert one.provider == "groq" and one.dialect == "openai.chat"
    assert one.error is not None and one.error["status"] == 404 and one.error["message"]
    assert [reading.error is None for reading in readings("groq__test_tool_use_failed_error.yaml")] == [
        False,
        True,
        True,
    ]


def test_every_exchange_of_the_corpus_but_the_making_of_conversations_is_a_model_call_read_whole() -> None:
    for path in sorted(WIRE.glob("*.yaml")):
        every = [one for one in exchanges(path.name) if "/conversations" not in one[0]["url"]]
        found = readings(path.name)
        assert len(found) == len(every), path.name
        assert not any(one.partial for one in found), path.name


FRAMINGS = ["payload", "wire", "chunked"]
PACKERS = {"identity": bytes, "br": brotli.compress, "zstd": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("encoding", PACKERS)
def test_framing_and_encoding_do_not_matter(framing: str, encoding: str) -> None:
    head, body, answer, data = exchanges("anthropic__test_anthropic_model_thinking_part_stream.yaml")[0]
    expected = read(head, body, answer, data)
    packed = PACKERS[encoding](data)
    headers = [["Content-Type", "text/event-stream"], ["Content-Encoding", encoding]]
    sent = packed
    if framing == "chunked":
        sent = b"".join(
            b"%X;x=y\r\n%s\r\n" % (len(packed[n : n + 700]), packed[n : n + 700]) for n in range(0, len(packed), 700)
        )
        sent += b"0\r\nTrailer: x\r\n\r\n"
    if framing != "payload":
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        lines += "Transfer-Encoding: chunked\r\n" if framing == "chunked" else ""
        sent = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + lines.encode() + b"\r\n" + sent
    head_now = {"status": 200, "headers": headers, "framing": "payload" if framing == "payload" else "wire"}
    pieces = [sent[n : n + 100] for n in range(0, len(sent), 100)]
    assert read(head, body, head_now, pieces) == expected


def test_every_request_is_judged_alike_by_the_cheap_and_the_full_reading() -> None:
    for path in sorted(WIRE.glob("*.yaml")):
        for head, body, answer, data in exchanges(path.name):
            reading = read(head, body, answer, data)
            assert stateless_model_request(head["method"], head["url"], body) is bool(reading and reading.stateless)
