"""The blocking API of gRPC is recorded and replayed exactly with the server gone, in all shapes and ways of calling."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.programs import read_program

from .conftest import Agent

SINGLE = """
    with grpc.insecure_channel(TARGET) as channel:
        unary, down, up, both = methods(channel)
        print(unary(b"one"))
        print(unary(b"empty"))
        answer, call = unary.with_call(b"two", metadata=(("a", "b"), ("c-bin", b"\\x00")), timeout=30)
        print(answer, call.code(), call.details(), call.initial_metadata(), call.trailing_metadata())
        print(call.time_remaining(), call.is_active(), call.done(), call.result() == answer)
        try:
            unary(b"fail")
        except grpc.RpcError as error:
            failed(error)
            print(error.initial_metadata())
        try:
            unary(b"hang", timeout=0.2)
        except grpc.RpcError as error:
            print(error.code())
        for wrong in (lambda: unary(), lambda: unary(b"x", nothing=1), lambda: unary(7)):
            try:
                wrong()
            except Exception as error:
                print(type(error).__name__)
    try:
        unary(b"closed")
    except ValueError as error:
        print(error)
"""


def test_single_answers_with_metadata_errors_and_deadlines(agent: Agent) -> None:
    said = agent.same(SINGLE)
    assert "StatusCode.NOT_FOUND no such thing" in said and "('x-last-bin', b'\\x00\\xff')" in said
    assert "StatusCode.DEADLINE_EXCEEDED" in said and "closed channel" in said


def test_futures_wait_time_out_call_back_and_are_cancelled(agent: Agent) -> None:
    said = agent.same("""
        channel = grpc.insecure_channel(TARGET)
        unary, down, up, both = methods(channel)
        slow = unary.future(b"wait", timeout=30)
        try:
            slow.result(timeout=0.05)
        except grpc.FutureTimeoutError:
            print("not yet", slow.done(), slow.running(), 0 < slow.time_remaining() <= 30)
        quick = unary.future(b"quick")
        print(quick.result(), slow.result(), slow.done(), slow.exception(), slow.code(), slow.initial_metadata())
        bad = unary.future(b"fail")
        print(bad.exception().code(), bad.traceback() is not None)
        try:
            bad.result()
        except grpc.RpcError as error:
            print(error is bad, error.details())
        gone = unary.future(b"hang")
        print(gone.cancel(), gone.cancel(), gone.cancelled(), gone.code(), gone.details())
        try:
            gone.result()
        except grpc.FutureCancelledError:
            print("cancelled")
        ended = queue.Queue()
        for asked in (b"wait", b"quick"):
            unary.future(asked).add_done_callback(ended.put)
        print(sorted(ended.get().result().split()[0] for _ in range(2)))
        print(up.future(iter([b"a", b"b"])).result())
    """)
    assert "not yet False True True" in said and "[b'quick', b'wait']" in said


def test_streams_of_answers_end_fail_and_are_cancelled(agent: Agent) -> None:
    said = agent.same("""
        channel = grpc.insecure_channel(TARGET)
        unary, down, up, both = methods(channel)
        call = down(b"x")
        print(call.initial_metadata(), list(call), call.code(), call.trailing_metadata(), call.is_active())
        call = down(b"fail")
        try:
            for message in call:
                print(message)
        except grpc.RpcError as error:
            failed(error)
            print(error is call)
        call = down(b"early")
        print(next(call), call.cancel(), call.cancelled())
        try:
            next(call)
        except grpc.RpcError as error:
            print(error.code(), error.details())
        left = down(b"left")
        print(next(left))
        del left
        called = queue.Queue()
        call = both(iter([b"a"]))
        print(call.add_callback(lambda: called.put(1)), list(call), called.get(), call.add_callback(print))
    """)
    assert "StatusCode.DATA_LOSS lost" in said and "b''" in said and "Locally cancelled" in said


def test_streams_of_requests_run_the_agents_own_iterator(agent: Agent) -> None:
    said = agent.same(read_program("grpc/streams_of_requests.py"))
    assert "b'a++c " in said and "StatusCode.UNKNOWN Exception iterating requests!" in said


def test_concurrent_calls_keep_their_answers_and_their_order(agent: Agent) -> None:
    said = agent.same("""
        channel = grpc.insecure_channel(TARGET)
        unary, down, up, both = methods(channel)
        seen, came = [], queue.Queue()

        def ask(word):
            seen.append(unary(word))
            came.put(word)

        threads = [threading.Thread(target=ask, args=(word,)) for word in (b"wait a", b"wait b", b"same", b"same")]
        for thread in threads:
            thread.start()
        came.get(), came.get()
        for word in (b"quick", b"quick"):
            ask(word)
        for thread in threads:
            thread.join()
        print(sorted(word.rpartition(b" ")[0] for word in seen))
    """)
    assert said == "[b'quick', b'quick', b'same', b'same', b'wait a', b'wait b']\n"


def test_a_server_that_is_not_there_is_not_there_in_the_replay(agent: Agent) -> None:
    agent.server.close()
    agent.write("""
        channel = grpc.insecure_channel(TARGET)
        try:
            methods(channel)[0](b"one")
        except grpc.RpcError as error:
            print(error.code(), error.details(), error.debug_error_string())
    """)
    recorded = agent.record()
    assert "StatusCode.UNAVAILABLE" in recorded.stdout
    replayed = agent.replay()
    assert replayed.returncode == 0 and replayed.stdout == recorded.stdout


def test_a_channel_tells_when_it_is_ready(agent: Agent) -> None:
    agent.same("""
        channel = grpc.insecure_channel(TARGET)
        ready = grpc.channel_ready_future(channel)
        ready.result(timeout=30)
        print(ready.done(), methods(channel)[0](b"one"))
    """)


def test_ctrl_c_while_a_call_waits_ends_it_again(agent: Agent) -> None:
    agent.write("""
        channel = grpc.insecure_channel(TARGET)
        unary, down, up, both = methods(channel)
        for ask in (
            lambda: unary(b"hang"), lambda: up(iter([b"hang"])), lambda: list(both(iter([b"hang"]))),
            lambda: list(both(iter([b"a", b"hang"]))),
        ):
            try:
                ask()
            except KeyboardInterrupt:
                print("interrupted")
    """)
    words = [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"]
    with subprocess.Popen(
        words, cwd=agent.folder, env=agent.environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(4):
            agent.server.until_one_hangs()
            process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n" * 4
    agent.server.close()
    replayed = agent.replay()
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout == "interrupted\n" * 4
