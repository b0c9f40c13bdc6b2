"""Generated stubs under wrappers and interceptors replay; what is asked must match; a server that lives is not reached;
credentials in metadata and messages are not stored."""

from __future__ import annotations

from pathlib import Path

from tests.programs import read_program

from .conftest import Agent, without_numbers

STUB = read_program("grpc/stub_and_interceptor.py")


def test_a_generated_stub_under_interceptors_and_wrappers(agent: Agent) -> None:
    said = agent.same(STUB)
    assert "A-1 ['/shop.Orders/Unary', '/shop.Orders/Unary']" in said
    assert "('NOT_FOUND', 'no such thing')" in said and "Exception deserializing response!" in said


ASKING = """
    channel = grpc.insecure_channel(TARGET)
    unary, down, up, both = methods(channel)
    print(unary(os.environ.get("ASKED", "one").encode()), up(iter([os.environ.get("SENT", "two").encode()])))
"""


def test_another_request_or_another_message_of_a_stream_diverges(agent: Agent) -> None:
    agent.write(ASKING)
    agent.record()
    before = agent.server.calls()
    assert agent.replay().returncode == 0
    asked = agent.replay(ASKED="three")
    assert asked.returncode == 1 and "shop.Orders/Unary" in asked.stderr and "verdict: different" in asked.stderr
    sent = agent.replay(SENT="three")
    assert sent.returncode == 1 and "shop.Orders/Up send" in sent.stderr
    assert agent.server.calls() == before  # it lives, and was not asked


KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"


def test_credentials_are_not_stored_and_messages_keep_their_length(agent: Agent) -> None:
    agent.write(f"""
    unary, down, up, both = methods(grpc.insecure_channel(TARGET))
    secret = b"sk-proj-" + b"{KEY[8:]}"
    answer = unary(b"key " + secret + b" end", metadata=(("authorization", "Bearer " + secret.decode()),))
    print(len(answer.rpartition(b" ")[0]), [len(message) for message in down(b"key " + secret)][1])
    """)
    recorded = agent.record()
    assert recorded.stdout == f"{len(KEY) + 8} 0\n"
    stored = b"".join(path.read_bytes() for path in Path(agent.folder / "store").rglob("*") if path.is_file())
    assert KEY.encode() not in stored
    agent.server.close()
    replayed = agent.replay()
    assert replayed.returncode == 0 and without_numbers(replayed.stdout) == without_numbers(recorded.stdout)
