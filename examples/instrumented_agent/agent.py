"""An agent that another package instruments: OpenInference makes its spans, OpenTelemetry's exporter sends them.

It knows nothing of reenact but the two lines that write the id of the recording on its own span.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from openinference.instrumentation import OITracer, TraceConfig
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import reenact

provider = TracerProvider(resource=Resource({"service.name": "refunds"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{sys.argv[1]}/v1/traces")))
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = OITracer(provider.get_tracer("refunds"), TraceConfig())

BANK = iter([False, False, True])
"""Whether the bank answers, each time it is asked."""
TOOLS: list[Any] = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]


@tracer.tool
def refund(order: str) -> str:
    """Pay an order back; the bank fails twice."""
    if not next(BANK):
        raise ConnectionError("the bank does not answer")
    return f"order {order} is paid back"


@tracer.chain
def settle(order: str) -> str:
    """Pay back, and try again while the bank does not answer."""
    while True:
        try:
            return refund(order)
        except ConnectionError:
            continue


@tracer.agent
def answer(question: str) -> str:
    """What the agent does: asks the model, calls the tool that it wants, and asks again."""
    run = reenact.current_run()
    trace.get_current_span().set_attribute("reenact.run.id", run.id if run else "")
    client = openai.OpenAI()
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        said = client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS).choices[0].message
        if not said.tool_calls:
            return said.content or ""
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            assert call.type == "function"
            result = settle(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


print(answer("Please pay back order 7."))
provider.shutdown()
