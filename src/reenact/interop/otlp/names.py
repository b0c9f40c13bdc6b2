"""Names of attributes by dialect and version, as data: the meaning of each attribute for a model call, a tool, a run.

The conventions for model calls have been renamed more than once, and each vendor has had names of its own; one span may
carry several. Each table maps a fact to its attributes, the newest name first. If two dialects state the same fact, the
earlier table in ``TABLES`` wins: dialects that keep more of the wire come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, replace

VERSION: Final = 1
"""The version of these tables. An imported run says by which version it was read."""


@dataclass(frozen=True, slots=True)
class NameTable:
    """The names of one dialect.

    Attributes:
        dialect: Its name.
        version: The version of their definition.
        names: The attributes of each fact, the newest first. ``param.X`` is a parameter of the request, ``usage.X`` a
            count of tokens.
        prefixes: Beginnings of further attributes that are parameters of the request.
        indexed: Beginnings of attributes that are flattened lists, and the fact of each list.
        sorts: Attributes that give the sort of a span, the most reliable first.
        json: Whether every value is JSON in a text.
    """

    dialect: str
    version: str
    names: Mapping[str, tuple[str, ...]]
    prefixes: tuple[str, ...] = ()
    indexed: Mapping[str, str] = ()  # type: ignore[assignment]  # empty
    sorts: tuple[str, ...] = ()
    json: bool = False


_PARAMS: Final = {
    f"param.{name}": (f"gen_ai.request.{name}",)
    for name in (
        *("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "stop_sequences"),
        *("stream", "encoding_formats", "service_tier"),
    )
}

OPENINFERENCE: Final = NameTable(
    "openinference",
    "0.1.42",
    {
        "operation": ("openinference.span.kind",),
        "provider": ("llm.provider", "llm.system"),
        "model_asked": ("llm.request.model_name", "llm.model_name", "embedding.model_name", "reranker.model_name"),
        "model_answered": ("llm.response.model_name",),
        "parameters": ("llm.invocation_parameters", "embedding.invocation_parameters"),
        "finish": ("llm.finish_reason",),
        "input": ("input.value",),
        "output": ("output.value",),
        "input_type": ("input.mime_type",),
        "output_type": ("output.mime_type",),
        "usage.tokens_in": ("llm.token_count.prompt",),
        "usage.tokens_out": ("llm.token_count.completion",),
        "usage.total": ("llm.token_count.total",),
        "usage.cached": ("llm.token_count.prompt_details.cache_read",),
        "usage.cache_written": ("llm.token_count.prompt_details.cache_write",),
        "usage.reasoning": ("llm.token_count.completion_details.reasoning",),
        "tool_name": ("tool.name",),
        "tool_id": ("tool.id", "tool_call.id"),
        "tool_parameters": ("tool.parameters",),
        "tool_description": ("tool.description",),
        "session": ("session.id",),
        "user": ("user.id",),
        "agent": ("agent.name",),
    },
    indexed={
        "llm.input_messages.": "input_messages",
        "llm.output_messages.": "output_messages",
        "llm.tools.": "tools",
        "retrieval.documents.": "documents",
        "reranker.output_documents.": "documents",
        "embedding.embeddings.": "embeddings",
    },
    sorts=("openinference.span.kind",),
)

LANGFUSE: Final = NameTable(
    "langfuse",
    "3",
    {
        "operation": ("langfuse.observation.type",),
        "model_asked": ("langfuse.observation.model.name",),
        "parameters": ("langfuse.observation.model.parameters",),
        "usage_details": ("langfuse.observation.usage_details",),
        "input": ("langfuse.observation.input",),
        "output": ("langfuse.observation.output",),
        "error_text": ("langfuse.observation.status_message",),
        "user": ("langfuse.user.id",),
        "session": ("langfuse.session.id",),
        "version": ("langfuse.version", "langfuse.release"),
        "workflow": ("langfuse.trace.name",),
    },
    sorts=("langfuse.observation.type",),
)

OTEL: Final = NameTable(
    "otel.genai",
    "1.41 and gen-ai-dev",
    {
        **_PARAMS,
        "operation": ("gen_ai.operation.name",),
        "provider": ("gen_ai.provider.name",),
        "model_asked": ("gen_ai.request.model",),
        "model_answered": ("gen_ai.response.model",),
        "response_id": ("gen_ai.response.id",),
        "finish": ("gen_ai.response.finish_reasons",),
        "input_messages": ("gen_ai.input.messages",),
        "output_messages": ("gen_ai.output.messages",),
        "input_ref": ("gen_ai.input.messages_ref",),
        "output_ref": ("gen_ai.output.messages_ref",),
        "system": ("gen_ai.system_instructions",),
        "tools": ("gen_ai.tool.definitions",),
        "param.seed": ("gen_ai.request.seed",),
        "param.n": ("gen_ai.request.choice.count",),
        "param.output_type": ("gen_ai.output.type",),
        "param.reasoning_effort": ("gen_ai.request.reasoning.level",),
        "param.previous_response_id": ("gen_ai.request.previous_response.id",),
        "param.dimensions": ("gen_ai.embeddings.dimension.count",),
        "param.fingerprint": ("openai.response.system_fingerprint",),
        "param.service_tier": ("openai.request.service_tier",),
        "usage.tokens_in": ("gen_ai.usage.input_tokens",),
        "usage.tokens_out": ("gen_ai.usage.output_tokens",),
        "usage.cached": ("gen_ai.usage.cache_read.input_tokens",),
        "usage.cache_written": ("gen_ai.usage.cache_write.input_tokens",),
        "usage.reasoning": ("gen_ai.usage.reasoning.output_tokens",),
        "tool_name": ("gen_ai.tool.name",),
        "tool_id": ("gen_ai.tool.call.id",),
        "tool_arguments": ("gen_ai.tool.call.arguments",),
        "tool_result": ("gen_ai.tool.call.result",),
        "tool_description": ("gen_ai.tool.description",),
        "query": ("gen_ai.retrieval.query.text", "gen_ai.memory.query.text"),
        "documents": ("gen_ai.retrieval.documents", "gen_ai.memory.records"),
        "source": ("gen_ai.data_source.id", "gen_ai.memory.store.id"),
        "agent": ("gen_ai.agent.name",),
        "version": ("gen_ai.agent.version",),
        "workflow": ("gen_ai.workflow.name",),
        "session": ("gen_ai.conversation.id",),
        "error_type": ("error.type",),
        "server": ("server.address",),
        "method": ("mcp.method.name",),
        "first_chunk": ("gen_ai.response.time_to_first_chunk",),
    },
    sorts=("gen_ai.operation.name",),
)

OTEL_BEFORE: Final = NameTable(
    "otel.genai (before)",
    "1.28 to 1.36",
    {
        "provider": ("gen_ai.system",),
        "input_messages": ("gen_ai.prompt",),
        "output_messages": ("gen_ai.completion",),
        "param.seed": ("gen_ai.openai.request.seed",),
        "param.response_format": ("gen_ai.openai.request.response_format",),
        "param.service_tier": ("gen_ai.openai.request.service_tier",),
        "param.fingerprint": ("gen_ai.openai.response.system_fingerprint",),
        "usage.tokens_in": ("gen_ai.usage.prompt_tokens",),
        "usage.tokens_out": ("gen_ai.usage.completion_tokens",),
        "usage.cache_written": ("gen_ai.usage.cache_creation.input_tokens",),
    },
)

OPENLLMETRY: Final = NameTable(
    "openllmetry",
    "0.5.1",
    {
        "operation": ("llm.request.type", "traceloop.span.kind"),
        "provider": ("llm.vendor",),
        "model_asked": ("llm.request.model",),
        "model_answered": ("llm.response.model",),
        "usage.tokens_in": ("llm.usage.prompt_tokens",),
        "usage.tokens_out": ("llm.usage.completion_tokens",),
        "usage.total": ("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
        "usage.reasoning": ("gen_ai.usage.reasoning_tokens",),
        "usage.cached": ("gen_ai.usage.cache_read_input_tokens",),
        "usage.cache_written": ("gen_ai.usage.cache_creation_input_tokens",),
        "streamed": ("gen_ai.is_streaming", "llm.is_streaming"),
        "param.max_completion_tokens": ("gen_ai.request.max_completion_tokens",),
        "param.n": ("gen_ai.request.n",),
        "param.reasoning_effort": ("gen_ai.request.reasoning_effort",),
        "param.response_format": ("gen_ai.request.structured_output_schema",),
        "input": ("traceloop.entity.input", "mcp.request.argument"),
        "output": ("traceloop.entity.output", "mcp.response.value"),
        "entity": ("traceloop.entity.name",),
        "version": ("traceloop.entity.version",),
        "workflow": ("traceloop.workflow.name",),
        "user": ("traceloop.association.properties.user_id", "traceloop.association.properties.userId"),
        "tenant": ("traceloop.association.properties.tenant_id", "traceloop.association.properties.tenantId"),
        "session": (
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.sessionId",
            "traceloop.association.properties.thread_id",
        ),
    },
    indexed={
        "gen_ai.prompt.": "input_messages",
        "gen_ai.completion.": "output_messages",
        "llm.prompts.": "input_messages",
        "llm.completions.": "output_messages",
        "llm.request.functions.": "tools",
    },
    sorts=("llm.request.type", "traceloop.span.kind"),
)

VERCEL: Final = NameTable(
    "vercel.ai",
    "5",
    {
        "operation": ("ai.operationId", "operation.name"),
        "provider": ("ai.model.provider",),
        "model_asked": ("ai.model.id",),
        "model_answered": ("ai.response.model",),
        "response_id": ("ai.response.id",),
        "finish": ("ai.response.finishReason",),
        "input_messages": ("ai.prompt.messages",),
        "input": ("ai.prompt", "ai.value", "ai.values"),
        "output": ("ai.response.object",),
        "answer_text": ("ai.response.text",),
        "answer_thinking": ("ai.response.reasoning",),
        "answer_calls": ("ai.response.toolCalls",),
        "tools": ("ai.prompt.tools",),
        "param.tool_choice": ("ai.prompt.toolChoice",),
        "usage.tokens_in": ("ai.usage.promptTokens", "ai.usage.inputTokens", "ai.usage.tokens"),
        "usage.tokens_out": ("ai.usage.completionTokens", "ai.usage.outputTokens"),
        "usage.cached": ("ai.usage.cachedInputTokens",),
        "usage.reasoning": ("ai.usage.reasoningTokens",),
        "tool_name": ("ai.toolCall.name",),
        "tool_id": ("ai.toolCall.id",),
        "tool_arguments": ("ai.toolCall.args",),
        "tool_result": ("ai.toolCall.result",),
        "agent": ("ai.telemetry.functionId",),
        "user": ("ai.telemetry.metadata.userId",),
        "tenant": ("ai.telemetry.metadata.tenantId",),
        "session": ("ai.telemetry.metadata.sessionId",),
    },
    prefixes=("ai.settings.",),
    sorts=("ai.operationId",),
)

MLFLOW: Final = NameTable(
    "mlflow",
    "3.17",
    {
        "operation": ("mlflow.spanType",),
        "input": ("mlflow.spanInputs",),
        "output": ("mlflow.spanOutputs",),
        "entity": ("mlflow.spanFunctionName",),
        "tools": ("mlflow.chat.tools",),
        "usage_details": ("mlflow.chat.tokenUsage",),
        "model_asked": ("mlflow.llm.model",),
        "provider": ("mlflow.llm.provider",),
        "user": ("mlflow.trace.user", "mlflow.user"),
        "session": ("mlflow.trace.session",),
        "commit": ("mlflow.source.git.commit",),
    },
    sorts=("mlflow.spanType",),
    json=True,
)

PYDANTIC_AI: Final = NameTable(
    "pydantic-ai",
    "1",
    {
        "agent": ("agent_name",),
        "all_messages": ("pydantic_ai.all_messages", "all_messages_events"),
        "events": ("events",),
        "tool_arguments": ("tool_arguments",),
        "tool_result": ("tool_response",),
        "output": ("final_result",),
        "model_name": ("model_name",),
        "model_parameters": ("model_request_parameters",),
    },
)

ADK: Final = NameTable(
    "google.adk",
    "1",
    {
        "input": ("gcp.vertex.agent.llm_request",),
        "output": ("gcp.vertex.agent.llm_response",),
        "tool_arguments": ("gcp.vertex.agent.tool_call_args",),
        "tool_result": ("gcp.vertex.agent.tool_response",),
        "session": ("gcp.vertex.agent.session_id",),
        "response_id": ("gcp.vertex.agent.event_id",),
    },
)

GENKIT: Final = NameTable(
    "genkit",
    "1",
    {
        "operation": ("genkit:metadata:subtype", "genkit:type"),
        "entity": ("genkit:name",),
        "input": ("genkit:input",),
        "output": ("genkit:output",),
        "session": ("genkit:sessionId",),
    },
    sorts=("genkit:metadata:subtype",),
)

LAMINAR: Final = NameTable(
    "laminar",
    "0.7",
    {
        "operation": ("lmnr.span.type",),
        "input": ("lmnr.span.input",),
        "output": ("lmnr.span.output",),
        "user": ("lmnr.association.properties.user_id",),
        "session": ("lmnr.association.properties.session_id",),
    },
    sorts=("lmnr.span.type",),
)

_SAID: Final = (
    *("operation", "provider", "model_asked", "model_answered", "response_id", "input_messages", "output_messages"),
    *("input", "output", "system", "tools", "parameters", "usage_details", "tool_name", "tool_id", "tool_arguments"),
    *("tool_result", "query", "documents", "agent", "version", "user", "session", "commit", "service", "error_type"),
)


def _own(dialect: str, version: str) -> NameTable:
    """The names for a reader of logs that have no attributes: that reader names values in its own words
    (``as_said``)."""
    return NameTable(
        dialect, version, {said: (f"{dialect}.{said}",) for said in _SAID}, sorts=(f"{dialect}.operation",)
    )


def as_said(dialect: str, **values: Json) -> dict[str, Json]:
    """The facts of a log row, as attributes in the table of its dialect; without None values."""
    return {f"{dialect}.{said}": value for said, value in values.items() if value is not None}


INSPECT: Final = _own("inspect", "0.3")
MESSAGES: Final = _own("messages", "1")
LANGSMITH: Final = replace(
    _own("langsmith", "0.14"),
    names={
        **_own("langsmith", "0.14").names,
        "operation": ("langsmith.span.kind",),
        "provider": ("langsmith.metadata.ls_provider",),
        "model_asked": ("langsmith.model_asked", "langsmith.metadata.ls_model_name"),
        "param.temperature": ("langsmith.metadata.ls_temperature",),
        "param.max_tokens": ("langsmith.metadata.ls_max_tokens",),
        "param.stop": ("langsmith.metadata.ls_stop",),
        "session": (
            *("langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.trace.session_id"),
            "langsmith.metadata.conversation_id",
        ),
        "user": ("langsmith.metadata.user_id",),
        "commit": ("langsmith.metadata.revision_id",),
    },
    sorts=("langsmith.span.kind",),
)

ANTHROPIC: Final = NameTable(
    "anthropic.sdk",
    "2.11",
    {
        "finish": ("anthropic.message.stop_reason",),
        "request_id": ("anthropic.request.id",),
        "param.service_tier": ("anthropic.request.service_tier",),
    },
)

GENERAL: Final = NameTable(
    "general",
    "1",
    {
        "user": ("enduser.id",),
        "tenant": ("tenant.id", "tenant_id"),
        "session": ("session_id", "thread_id"),
        "commit": ("vcs.ref.head.revision", "git.commit.sha", "git.commit.id"),
        "service": ("service.name",),
        "version": ("service.version",),
        "status": ("http.response.status_code",),
    },
)

REENACT: Final = NameTable(
    "reenact",
    "1",
    {
        "input": ("reenact.input",),
        "output": ("reenact.output",),
        "user": ("user.id",),
        "tenant": ("tenant.id",),
        "commit": ("vcs.ref.head.revision",),
        "service": ("service.name",),
        "version": ("service.version",),
    },
    prefixes=("reenact.param.",),
)
"""Our own names for facts without a name in a dialect."""

TABLES: Final = (
    OPENINFERENCE, OTEL, LANGFUSE, OPENLLMETRY, VERCEL, OTEL_BEFORE, MLFLOW, PYDANTIC_AI, ADK, GENKIT, LAMINAR,
    LANGSMITH, INSPECT, MESSAGES, ANTHROPIC, GENERAL, REENACT,
)  # fmt: skip
"""Every table, in the order of precedence."""

_SORTING: Final = (
    *(LANGFUSE, OPENINFERENCE, OTEL, LANGSMITH, LAMINAR, GENKIT, OPENLLMETRY, VERCEL, MLFLOW, INSPECT, MESSAGES),
)
SORTS: Final = tuple(name for table in _SORTING for name in table.sorts)
"""The attributes that give the sort of a span, the most reliable first."""

MODEL_WORDS: Final = frozenset(
    {"chat", "generate_content", "text_completion", "completion", "llm", "generation", "chat_model", "model",
     "fetch_response", "messages", "responses"}
)  # fmt: skip
EMBEDDING_WORDS: Final = frozenset({"embeddings", "embedding", "embedder"})
TOOL_WORDS: Final = frozenset({"execute_tool", "tool", "ai.toolcall", "tools/call"})
RETRIEVAL_WORDS: Final = frozenset({"retrieval", "retriever", "search_memory", "rerank", "reranker"})
"""The dialects' words for the sort of a span, in lower case; every other word means a step of the agent."""


def _exact() -> Iterator[tuple[str, tuple[str, int, NameTable]]]:
    rank = 0
    for table in TABLES:
        for said, names in table.names.items():
            for name in names:
                yield name, (said, rank, table)
                rank += 1


EXACT: Final[dict[str, tuple[str, int, NameTable]]] = {}
"""The fact of each attribute, the rank of its table, and the table."""
for _name, _found in _exact():
    EXACT.setdefault(_name, _found)

INDEXED: Final = tuple(
    (start, said, table) for table in TABLES if table.indexed for start, said in table.indexed.items()
)
PREFIXES: Final = tuple((start, table) for table in TABLES for start in table.prefixes)
