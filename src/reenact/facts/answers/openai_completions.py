"""The wire format of OpenAI's older completions of one prompt, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.answers.asks import Ask, BadAsk, ModelAnswer
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import PreparedAnswer, Stamp, asked_tokens, encoded, said_tokens
from reenact.facts.call import Json


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer in this dialect.

    Raises:
        BadAsk: The answer has tool calls, for which this format has no place.
    """
    if answer.uses:
        raise BadAsk("a prompt that is completed is answered in words, without tool calls")
    identity, asked, said = stamp.kept.id or stamp.id("cmpl-", 29), asked_tokens(ask), said_tokens(answer)
    top: dict[str, Json] = {"id": identity, "object": "text_completion", "created": stamp.created_s}
    top["model"] = stamp.kept.model or ask.model

    def chosen(text: str, finish: str | None) -> dict[str, Json]:
        return {**top, "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": finish}]}

    usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    chunks = [chosen(piece, None) for piece in pieces(answer.text)] + [chosen("", "stop")]
    frames = [b"data: " + encoded(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]
    return PreparedAnswer(identity, {**chosen(answer.text, "stop"), "usage": usage}, frames)
