"""Traces of other tools as files: made from the published shapes of Langfuse, LangSmith, Inspect and trajectories."""

from __future__ import annotations

from typing import Any

QUESTION = "Where is order 7?"
SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
CALL = {"id": "call_7", "type": "function", "function": {"name": "find_order", "arguments": '{"order": 7}'}}
WANTS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
GAVE = {"role": "tool", "tool_call_id": "call_7", "name": "find_order", "content": "lost"}
TELLS = {"role": "assistant", "content": "It is lost."}
TOOLS = [{"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}]
TRACE = "7a38edd8123db47ad8dcb8aa4c5e3926"


def at(second: int) -> str:
    """A time as most of them write it."""
    return f"2026-01-08T10:00:{second:02d}.000Z"


def observation(number: int, sort: str, name: str, asked: Any, came: Any, **more: Any) -> dict[str, Any]:
    """One observation of Langfuse, in its root."""
    return {
        "id": f"{number:016x}", "traceId": TRACE, "type": sort, "name": name, "parentObservationId": f"{1:016x}",
        "startTime": at(number), "endTime": at(number + 1), "input": asked, "output": came, "level": "DEFAULT", **more,
    }  # fmt: skip


MODEL = {"model": "gpt-4o-mini", "modelParameters": {"temperature": 0}, "usageDetails": {"input": 20, "output": 5}}
LANGFUSE: dict[str, Any] = {
    "trace": {
        "id": TRACE, "name": "desk", "timestamp": at(0), "userId": "u1", "sessionId": "s1", "release": "r9",
        "metadata": '{"resourceAttributes": {"vcs.ref.head.revision": "abc"}}', "input": QUESTION, "output": "lost",
    },
    "observations": [
        observation(4, "GENERATION", "chat", [*SAID, WANTS, GAVE], TELLS, **MODEL),
        observation(3, "TOOL", "find_order", {"order": 7}, "lost",
                    metadata={"attributes": {"gen_ai.tool.call.id": "call_7"}}),
        observation(2, "GENERATION", "chat", {"messages": SAID, "tools": TOOLS}, WANTS, **MODEL),
        {**observation(1, "AGENT", "desk", {"q": QUESTION}, "It is lost.", endTime=at(9)), "parentObservationId": None},
    ],
}  # fmt: skip


def run(number: int, sort: str, name: str, asked: Any, came: Any, **more: Any) -> dict[str, Any]:
    """One run of LangSmith, in its root."""
    ids = [f"00000000-0000-0000-0000-{each:012d}" for each in dict.fromkeys((1, number))]
    order = ".".join(f"20260108T1000{each[-2:]}000000Z{each}" for each in ids)
    return {
        "id": ids[-1], "trace_id": ids[0], "parent_run_id": ids[0] if len(ids) > 1 else None, "dotted_order": order,
        "name": name, "run_type": sort, "start_time": at(number), "end_time": at(number + 1), "inputs": asked,
        "outputs": came, "session_name": "desk", "extra": {"metadata": {"session_id": "s1", "revision_id": "abc"}},
        **more,
    }  # fmt: skip


def chosen(message: Any, number: int) -> dict[str, Any]:
    """A response of OpenAI."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    counts = {"input_tokens": 20, "output_tokens": 5}
    return {
        "id": f"chatcmpl-{number}",
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [choice],
        "usage_metadata": counts,
    }


ASKS = {"model": "gpt-4o-mini", "temperature": 0, "tools": TOOLS}
LANGSMITH: list[Any] = [
    run(4, "llm", "ChatOpenAI", {**ASKS, "messages": [*SAID, WANTS, GAVE]}, chosen(TELLS, 2)),
    run(
        3, "tool", "find_order", {"order": 7}, {"output": {"type": "tool", "tool_call_id": "call_7", "content": "lost"}}
    ),
    run(2, "llm", "ChatOpenAI", {**ASKS, "messages": SAID}, chosen(WANTS, 1)),
    run(1, "chain", "desk", {"q": QUESTION}, {"output": "It is lost."}, end_time=at(9)),
]


def event(number: int, kind: str, **more: Any) -> dict[str, Any]:
    """One event of Inspect, in its solver."""
    return {"uuid": f"event{number}", "span_id": "solver", "timestamp": at(number), "event": kind, **more}


INSPECT_CALL = {"id": "call_7", "function": "find_order", "arguments": {"order": 7}, "type": "function"}
MESSAGES = [
    {"id": "m0", "role": "system", "content": "attachment://aa"},
    {"id": "m1", "role": "user", "content": QUESTION},
    {"id": "m2", "role": "assistant", "content": "", "tool_calls": [INSPECT_CALL]},
    {"id": "m3", "role": "tool", "tool_call_id": "call_7", "function": "find_order", "content": "lost"},
]
SAMPLE: dict[str, Any] = {
    "id": "a", "epoch": 1, "input": QUESTION, "target": "lost", "uuid": "U", "scores": {"includes": {"value": "C"}},
    "messages": [*MESSAGES, {"role": "assistant", "content": "It is lost."}],
    "output": {"model": "gpt-4o-mini", "completion": "It is lost."},
    "attachments": {"aa": "Be brief."}, "events_data": {"messages": MESSAGES, "calls": []},
    "events": [
        event(1, "span_begin", id="solver", name="solve"),
        event(2, "model", model="openai/gpt-4o-mini", input=[], input_refs=[[0, 2]], completed=at(3),
              config={"temperature": 0}, tools=[{"name": "find_order", "parameters": {"type": "object"}}],
              output={"model": "gpt-4o-mini", "usage": {"input_tokens": 20, "output_tokens": 5},
                      "choices": [{"message": MESSAGES[2], "stop_reason": "tool_calls"}]}),
        event(4, "tool", id="call_7", function="find_order", arguments={"order": 7}, result="lost", completed=at(5)),
        event(6, "model", model="openai/gpt-4o-mini", input_refs=[[0, 4]], config={"temperature": 0}, completed=at(7),
              output={"model": "gpt-4o-mini", "choices": [
                  {"message": {"role": "assistant", "content": "It is lost."}, "stop_reason": "stop"}]}),
        event(8, "span_end", id="solver"),
    ],
}  # fmt: skip
INSPECT: dict[str, Any] = {
    "version": 2, "status": "success", "samples": [SAMPLE],
    "eval": {"run_id": "R", "task": "desk", "task_id": "T", "created": at(0), "model": "openai/gpt-4o-mini",
             "revision": {"type": "git", "commit": "abc"}},
}  # fmt: skip

TAU: list[Any] = [{"task_id": 3, "trial": 1, "reward": 1.0, "info": {"task": {}}, "traj": [*SAID, WANTS, GAVE, TELLS]}]

ACTED = {**WANTS, "content": "I look.", "action": "find_order 7", "thought": "I look.", "agent": "main"}
SWE: dict[str, Any] = {
    "environment": "desk", "replay_config": "{}",
    "trajectory": [
        {"action": "find_order 7", "observation": "lost", "response": "I look.", "thought": "I look.",
         "state": {"x": "1"}, "execution_time": 0.5, "query": SAID, "extra_info": {}},
        {"action": "", "observation": "", "response": "It is lost.", "thought": "It is lost.", "state": {},
         "execution_time": 0.0, "query": [*SAID, {**WANTS, "content": "I look."}, GAVE], "extra_info": {}},
    ],
    "history": [*SAID, ACTED, GAVE, {**TELLS, "action": "", "agent": "main"}],
    "info": {"exit_status": "submitted", "submission": "", "swe_agent_version": "1.1.0", "swe_agent_hash": "abc"},
}  # fmt: skip
WHO: dict[str, Any] = {
    "is_correct": False, "question": QUESTION, "ground_truth": "lost", "mistake_agent": "Clerk", "mistake_step": "0",
    "history": [
        {"content": "I look.", "name": "Clerk", "role": "assistant"},
        {"content": "exitcode: 0", "name": "Computer_terminal", "role": "user"},
        {"content": "It is lost.", "name": "Clerk", "role": "assistant"},
    ],
    "system_prompt": {"Clerk": "Be brief."},
}  # fmt: skip

MADE: dict[str, tuple[str, Any]] = {
    "langfuse": ("langfuse", LANGFUSE),
    "langsmith": ("langsmith", LANGSMITH),
    "inspect": ("inspect", INSPECT),
    "tau-bench": ("messages", TAU),
    "swe-agent": ("messages", SWE),
    "who-and-when": ("messages", WHO),
}
"""A file of each sort: its format, and what it holds."""
