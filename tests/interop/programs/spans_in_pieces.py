"""Spans of an agent that are sent to a collector one by one, by HTTP or by gRPC."""

import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

kind, endpoint = sys.argv[1:]
if kind == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True)
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=endpoint + "/v1/traces")
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))  # a request for each span: the trace comes in pieces
tracer = provider.get_tracer("agent")
NAMES = "gen_ai.operation.name"
with tracer.start_as_current_span("invoke", attributes={NAMES: "invoke_agent", "gen_ai.agent.name": "shop"}):
    for n in range(3):
        attributes = {NAMES: "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": f"[{n}]"}
        with tracer.start_as_current_span("execute_tool look", attributes=attributes):
            pass
provider.shutdown()
