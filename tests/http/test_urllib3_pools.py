"""Proves that urllib3, requests and botocore are recorded on the wire and replayed by the clients' own parsers."""

from __future__ import annotations

import gzip
import io
import ssl
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import pytest
import requests
import requests_toolbelt
import urllib3

from reenact.errors import Halt
from reenact.facts.call import EndKind

from .fakes import Replaying, listened, proven, told
from .server import HANG_UP, RESET, SSE, Script, Server, Wait, answer, as_json, chunked, torn


def seen(response: requests.Response) -> tuple[Any, ...]:
    return (
        response.status_code,
        response.reason,
        list(response.raw.headers.items()),
        response.content,
        response.url,
        [hop.url for hop in response.history],
        response.raw.version,
    )


def test_requests_with_redirects_cookies_and_duplicates(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"", "302 Found", [("Location", "/b"), ("Set-Cookie", "s=1; Path=/")])
    server.routes["/b"] = lambda r: answer(
        gzip.compress(b"%d %s" % (r.number, r.header("cookie").encode())),
        headers=[("Content-Encoding", "gzip"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("x-lower", "é")],
    )

    def agent() -> Any:
        with requests.Session() as session:
            first = session.get(server.url + "/a", params={"q": "ä"})
            return seen(first), seen(session.get(server.url + "/b")), session.cookies.get_dict()

    live, recording = proven(agent, server, exchanges=3)
    assert live[0][3] == b"2 s=1" and live[2] == {"s": "1", "a": "1", "b": "2"}
    one = recording.exchanges[0]
    assert one.call.head["url"] == f"{server.url}/a?q=%C3%A4" and one.call.head["transport"] == "urllib3"
    assert one.head["framing"] == "wire" and one.head["status"] == 302 and one.payload.startswith(b"HTTP/1.1 302 Found")
    assert all(exchange.ended is EndKind.EOF for exchange in recording.exchanges)
    assert one.call.source is not None and one.call.source.startswith(__file__)
    assert server.connections == 1, "recording must not keep a connection from being used again"


def test_streams_keep_their_segments(server: Server) -> None:
    text = 'data: {"t": "häßlich €"}\n\n'.encode() * 4
    go = threading.Event()
    server.routes["/sse"] = lambda r: chunked([*torn(text, 5), Wait(go), b"data: last\n\n"], SSE)

    def agent() -> Any:
        with requests.get(server.url + "/sse", stream=True, timeout=5) as response:
            parts = response.iter_content(None)
            first = next(parts)
            go.set()
            return [first, *parts]

    live, _ = proven(agent, server, exchanges=1)
    assert b"".join(live) == text + b"data: last\n\n" and len(live) > 5


def test_an_endless_stream_closed_early(server: Server) -> None:
    never = threading.Event()
    server.routes["/sse"] = lambda r: chunked([b"one\n", b"two\n", Wait(never)], SSE)
    lines = 2

    def agent() -> Any:
        response = requests.get(server.url + "/sse", stream=True, timeout=5)
        found = response.iter_lines(chunk_size=1)
        out = [next(found) for _ in range(lines)]
        response.close()
        return out

    live, recording = proven(agent, server, exchanges=1)
    never.set()
    assert live == [b"one", b"two"] and recording.exchanges[0].ended is EndKind.CLOSED
    lines = 3
    with listened(Replaying(recording)), pytest.raises(Halt):
        agent()


def test_errors_are_raised_again(server: Server) -> None:
    server.routes["/reset"] = lambda r: [RESET]
    server.routes["/gone"] = lambda r: [HANG_UP]
    server.routes["/short"] = lambda r: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", HANG_UP]
    server.routes["/cut"] = lambda r: [*chunked([b"abc"], end=False), HANG_UP]
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/stall"] = lambda r: [*chunked([b"abc"], end=False), Wait(threading.Event())]
    server.routes["/junk"] = lambda r: [b"this is no HTTP\r\n\r\n", HANG_UP]
    refused = Server()
    refused.close()
    urls = [server.url + path for path in ("/reset", "/gone", "/short", "/cut", "/slow", "/stall", "/junk")]
    urls += [refused.url + "/", "http://no.such.host.invalid/"]

    def agent() -> Any:
        out = []
        for url in urls:
            with requests.Session() as session, pytest.raises(requests.RequestException) as caught:
                session.get(url, timeout=0.2)
            reason = getattr(caught.value.args[0], "reason", None)
            of = vars(reason).get("pool") or vars(reason).get("conn") if reason is not None else None
            assert of is None or of.host in url
            out.append((told(caught.value), type(reason), getattr(caught.value.request, "url", None)))
        return out

    live, _ = proven(agent, server, exchanges=len(urls))
    names = [error[0].rpartition(".")[2] for error, _, _ in live]
    broken = ["ChunkedEncodingError"] * 2
    assert names == [*["ConnectionError"] * 2, *broken, "ReadTimeout", *["ConnectionError"] * 4]


def test_retries_of_urllib3_are_separate_exchanges(server: Server) -> None:
    server.routes["/a"] = Script([
        lambda r: answer(b"half {", "429 Too Many", [("Retry-After", "0")]),
        lambda r: [HANG_UP],
        lambda r: answer(b"%d" % r.number),
    ])  # fmt: skip

    def agent() -> Any:
        retries = urllib3.Retry(5, status_forcelist=[429], backoff_factor=0, allowed_methods=None)
        with urllib3.PoolManager() as pool:
            response = pool.request("POST", server.url + "/a", body=b"x", retries=retries)
            assert response.retries is not None
            return response.data, len(response.retries.history)

    live, _ = proven(agent, server, exchanges=3)
    assert live == (b"3", 2)


def test_uploads_of_every_kind(server: Server) -> None:
    server.routes["/up"] = lambda r: answer(r.body + b" %d" % r.number)

    def parts() -> Iterator[bytes]:
        yield b"one,"
        yield b"two"

    class Plain:
        """More than this urllib3 asks of no file."""

        def __init__(self) -> None:
            self.data = io.BytesIO(b"plain file")

        def read(self, size: int = -1) -> bytes:
            return self.data.read(size)

    def agent() -> Any:
        form = requests_toolbelt.MultipartEncoder({"f": ("f.txt", io.BytesIO(b"streamed"), "text/plain")}, "bound")
        files = {"f": ("f.txt", io.BytesIO(b"contents"))}
        url = server.url + "/up"
        return [
            requests.post(url, data=parts()).content,
            requests.post(url, data=io.BytesIO(b"a file")).content,
            requests.post(url, data=form, headers={"Content-Type": form.content_type}).content,
            requests.post(url, files=files).content.count(b"contents"),
            urllib3.request("POST", url, body="täxt").data,
            urllib3.PoolManager().request("POST", url, body=Plain(), chunked=True).data,  # type: ignore[arg-type]
            urllib3.request("POST", url, body=memoryview(b"view")).data,
        ]

    live, recording = proven(agent, server, exchanges=7)
    assert live[0] == b"one,two 1" and live[1] == b"a file 2" and b"streamed" in live[2] and live[3] == 1
    assert live[4] == "täxt 5".encode() and live[5] == b"plain file 6" and live[6] == b"view 7"
    assert [exchange.call.body for exchange in recording.exchanges] == [request.body for request in server.requests]
    assert server.requests[0].header("transfer-encoding") == "chunked"


def test_threads_that_share_a_session(server: Server) -> None:
    server.routes["*"] = lambda r: answer(b"%s %d" % (r.target.encode(), r.number))

    def agent() -> Any:
        with requests.Session() as session, ThreadPoolExecutor(10) as pool:
            return list(pool.map(lambda n: session.get(f"{server.url}/{n}").content, range(40)))

    proven(agent, server, exchanges=40)


def test_tls_and_its_failure(tls: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    server = Server(context)
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)

    def agent() -> Any:
        with requests.Session() as session, warnings.catch_warnings(record=True) as told_off:
            warnings.simplefilter("always", urllib3.exceptions.InsecureRequestWarning)
            with pytest.raises(requests.exceptions.SSLError) as caught:
                session.get(server.url + "/a")
            good = session.get(server.url + "/a", verify=str(tls[0])).content
            bad = session.get(server.url + "/a", verify=False).content
            return told(caught.value), good, bad, [str(warning.message) for warning in told_off]

    live, _ = proven(agent, server, exchanges=3)
    assert "CERTIFICATE_VERIFY_FAILED" in live[0][1] and live[1:3] == (b"1", b"2") and len(live[3]) == 1


def test_proxies_are_part_of_the_exchange(server: Server) -> None:
    server.routes["*"] = lambda r: answer(b"%s %d" % (r.target.encode(), r.number))
    server.routes["no.such.host.invalid:443"] = lambda r: answer(b"", "403 Not For You")
    refused = Server()
    refused.close()

    def agent() -> Any:
        proxies = {"http": server.url, "https": server.url}
        out: list[Any] = [requests.get("http://no.such.host.invalid/a", proxies=proxies).content]
        for proxy in (server.url, refused.url):
            with pytest.raises(requests.exceptions.ProxyError) as caught:
                requests.get("https://no.such.host.invalid/b", proxies={"https": proxy})
            out.append(told(caught.value))
        return out

    live, recording = proven(agent, server, exchanges=3)
    assert live[0] == b"http://no.such.host.invalid/a 1" and "403" in live[1][1]
    assert [exchange.call.head["url"] for exchange in recording.exchanges][:2] == [
        "http://no.such.host.invalid/a", "https://no.such.host.invalid/b",
    ]  # fmt: skip


def test_a_replayed_connection_never_serves_a_live_call(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)
    session = requests.Session()
    _, recording = proven_alive(lambda: session.get(server.url + "/a").content)
    with listened(Replaying(recording)):
        assert session.get(server.url + "/a").content == b"1"
    assert session.get(server.url + "/a").content == b"2"
    session.close()


def proven_alive(agent: Any) -> Any:
    from .fakes import Recording

    recording = Recording()
    with listened(recording):
        return agent(), recording


def bedrock(server: Server) -> Any:
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=server.url,
        region_name="eu-central-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=botocore.config.Config(retries={"max_attempts": 2, "mode": "standard"}),
    )


def frame(event: str, payload: bytes) -> bytes:
    """One frame of an AWS event stream."""
    headers = b""
    for name, value in (":event-type", event), (":content-type", "application/json"), (":message-type", "event"):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def test_bedrock_converse_and_its_binary_stream_at_another_date(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import botocore.auth

    said = {"output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}}, "stopReason": "end_turn"}
    said |= {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
    server.routes["/model/m/converse"] = Script([
        lambda r: as_json({"message": "slow down"}, "429 Too Many", [("x-amzn-ErrorType", "ThrottlingException")]),
        lambda r: as_json({**said, "metrics": {"latencyMs": r.number}}),
    ])  # fmt: skip
    frames = b"".join(
        frame(event, payload)
        for event, payload in [
            ("messageStart", b'{"role":"assistant"}'),
            ("contentBlockDelta", '{"contentBlockIndex":0,"delta":{"text":"häßlich"}}'.encode()),
            ("messageStop", b'{"stopReason":"end_turn"}'),
        ]
    )
    kind = [("Content-Type", "application/vnd.amazon.eventstream")]
    server.routes["/model/m/converse-stream"] = lambda r: chunked(torn(frames, 11), kind)
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    dates = iter(["20260101T000000Z", "20270202T000000Z"] * 6)
    signed = botocore.auth.SigV4Auth.add_auth

    def at_another_date(self: Any, request: Any) -> None:
        import datetime

        now = datetime.datetime.strptime(next(dates), "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *a, **k: now)
        signed(self, request)

    monkeypatch.setattr(botocore.auth.SigV4Auth, "add_auth", at_another_date)

    def agent() -> Any:
        client = bedrock(server)
        answered = client.converse(modelId="m", messages=messages)
        stream = client.converse_stream(modelId="m", messages=messages)
        return answered["output"], answered["metrics"], list(stream["stream"])

    live, recording = proven(agent, server, exchanges=3)
    assert live[1] == {"latencyMs": 2} and live[2][1]["contentBlockDelta"]["delta"]["text"] == "häßlich"
    assert frames.startswith(b"".join(recording.exchanges[2].segments).partition(b"\r\n\r\nb\r\n")[2][:11])


@pytest.mark.parametrize("early", [False, True])
def test_an_upload_that_waits_for_permission(early: bool, server: Server) -> None:
    if early:
        server.routes["*"] = lambda r: answer(b"", "403 Forbidden")
    else:
        server.routes["*"] = lambda r: answer(b"", headers=[("ETag", f'"{r.number}"')])

    def agent() -> Any:
        client = boto3.client(
            "s3", endpoint_url=server.url, region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        try:
            return client.put_object(Bucket="b", Key="k", Body=io.BytesIO(b"contents" * 1000))["ETag"]
        except client.exceptions.ClientError as error:
            return told(error)

    if early:
        server.refuse_uploads = True
    live, _ = proven(agent, server, exchanges=1)
    assert ("403" in live[1]) if early else live == '"1"'
