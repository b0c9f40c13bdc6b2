"""What a program reads from a tracing service is compared: another prompt is caught, other telemetry is not."""

from __future__ import annotations

from .conftest import Bench

SMITH = """
import json, os, urllib.request
os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT="WORLD", LANGSMITH_API_KEY="lsv2_pt_none")
from langsmith import Client, traceable

client = Client()
prompt = json.loads(client.request_with_retries("GET", "/api/v1/prompts/NAME").text)["prompt"]

@traceable(client=client)
def work(question):
    body = json.dumps({"system": prompt, "question": question}).encode()
    request = urllib.request.Request("WORLD/ask", body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["value"]

for n in range(COUNT):
    print(work(f"question {min(n, 1)}"))
client.flush()
"""

FUSE = """
import json, threading, uuid, httpx

client = httpx.Client(base_url="WORLD")
found = {}

def fetch(name):
    found[name] = client.get(f"/api/public/v2/prompts/{name}").json()["prompt"]

def ingest(count):
    batch = [{"id": uuid.uuid4().hex, "type": "span-create", "timestamp": "", "body": {}} for _ in range(count)]
    client.post("/api/public/ingestion", json={"batch": batch, "metadata": {}}).raise_for_status()

ingest(1)
thread = threading.Thread(target=fetch, args=("NAME",))
thread.start()
thread.join()
print(client.post("/ask", json={"system": found["NAME"]}).json()["value"])
ingest(COUNT)
"""


def test_langsmith(bench: Bench) -> None:
    """Its own client: runs are handed over, a prompt is fetched."""
    program = SMITH.replace("COUNT", "2")
    bench.record(program.replace("NAME", "main"))
    assert any("/runs/" in each for each in bench.world.exports())
    assert "verdict: same (exact)" in bench.replay()
    bench.write(program.replace("NAME", "other"))
    said = "\n".join(bench.run("replay", "@", code=1))
    assert "/api/v1/prompts/other" in said
    assert "verdict: different" in said


def test_langfuse(bench: Bench) -> None:
    """By its protocol: another prompt is caught, another batch is not."""
    bench.record(FUSE.replace("COUNT", "2").replace("NAME", "main"))
    bench.write(FUSE.replace("COUNT", "7").replace("NAME", "main"))
    assert "verdict: same (exact)" in bench.replay()
    bench.write(FUSE.replace("COUNT", "2").replace("NAME", "other"))
    assert "/api/public/v2/prompts/other" in "\n".join(bench.run("replay", "@", code=1))


def test_a_prompt_is_the_recorded_one(bench: Bench) -> None:
    """A replay has the prompt of then; one that fetches it live sees today's, and that it leads to another question."""
    bench.record(FUSE.replace("COUNT", "2").replace("NAME", "main"))
    bench.world.prompt = "Be brief."
    assert "verdict: same (exact)" in bench.replay()
    name = f"GET {bench.world.url.removeprefix('http://')}/api/public/v2/prompts/main"
    asked = len(bench.world.asked)
    said = "\n".join(bench.run("replay", "@", "--live", name, code=5))
    assert bench.world.asked[asked:] == ["GET /api/public/v2/prompts/main"]
    assert "/ask" in said
