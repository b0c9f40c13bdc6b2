"""Client libraries that Python programs import, and the modules through which each reaches the world.

A client is captured when one of the modules that it goes through has a seam. The seams say which modules these are. The
table only says through which modules a client goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reenact.facts.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """How one library reaches the world.

    Attributes:
        through: Modules that the client may go through; the client is captured if one of them has a seam.
        native: Whether its own C library opens the sockets, or its own program does the work. Python hooks see neither.
        fix: The remedies where it is not captured, cheapest first; if empty, the usual advice.
        distribution: The name of its distribution, where it differs from the imported name.
    """

    through: tuple[str, ...] = ()
    native: bool = False
    fix: tuple[str, ...] = ()
    distribution: str = ""


TOOL = "@reenact.tool on the functions that use it"
"""The usual advice. A replay answers the whole tool, so requests inside it need not be seen."""
_RETRIEVER = "@reenact.retriever on the functions that search with it"
_MODEL = "@reenact.model on the function that asks it"
_WEBSOCKETS = "the client of websockets or of aiohttp, which are recorded message by message"
_HTTPX = ("httpx", "httpx2")
_URLLIB3 = ("urllib3",)
_STDLIB = ("http.client",)


def _over(through: tuple[str, ...], *names: str) -> dict[str, Client]:
    return {name: Client(through) for name in names}


def _native(*names: str, fix: tuple[str, ...] = (TOOL,)) -> dict[str, Client]:
    return {name: Client((name,), native=True, fix=fix) for name in names}


def _alone(*names: str, fix: tuple[str, ...] = (TOOL,)) -> dict[str, Client]:
    """Libraries that are captured only where they have a seam of their own."""
    return {name: Client((name,), fix=fix) for name in names}


CLIENTS: Mapping[str, Client] = {
    # model providers and frameworks over HTTP
    **_over(_HTTPX, "openai", "anthropic", "mistralai", "groq", "ollama", "cohere", "together", "fireworks"),
    **_over(
        _HTTPX, "langchain_openai", "langchain_anthropic", "pydantic_ai", "agents", "instructor", "dspy", "litellm"
    ),
    **_over((*_HTTPX, *_URLLIB3), "huggingface_hub", "smolagents", "llama_index", "replicate", "voyageai"),
    "google.genai": Client(_HTTPX, distribution="google-genai"),
    # HTTP
    **_over(("httpx",), "httpx"),
    **_over(("httpx2",), "httpx2"),
    **_over(_URLLIB3, "urllib3", "requests", "boto3", "botocore", "pinecone", "elasticsearch", "opensearchpy"),
    **_over(_URLLIB3, "twilio", "stripe", "tavily", "github", "jira", "sendgrid", "selenium", "snowflake", "ldclient"),
    **_over(("aiohttp",), "aiohttp", "aiobotocore", "aioboto3", "discord", "azure.core.pipeline.transport"),
    **_over(_STDLIB, "http.client", "urllib.request", "xmlrpc.client", "slack_sdk", "httplib2"),
    **_over(_HTTPX, "qdrant_client", "chromadb", "supabase", "notion_client", "telegram", "firecrawl"),
    # protocols
    **_alone("mcp", "fastmcp", fix=("@reenact.tool on the functions that call the server's tools",)),
    **_alone("websockets", "websocket", "httpx_ws", "socketio", "wsproto", fix=(_WEBSOCKETS, TOOL)),
    **_over(("grpc",), "grpc", "google.generativeai", "pymilvus", "tritonclient", "xai_sdk"),
    **_over(("grpc", *_URLLIB3), "google.cloud", "vertexai"),
    **_over(("grpc", *_HTTPX), "weaviate"),
    # processes, people, sockets
    **_alone("subprocess", "pexpect", "sh", "plumbum", "fabric", "invoke"),
    **_alone("multiprocessing", fix=(TOOL, "record the worker's own command line")),
    **_alone("socket", "socketserver", "paramiko", "asyncssh", "telnetlib", "ftplib", "smtplib", "imaplib", "poplib"),
    **_native("playwright", "pyppeteer", "docker", "ray", "celery"),
    # databases and queues
    **_alone("sqlite3", "psycopg", "asyncpg", "pymysql", "aiomysql", "pg8000", "pymongo", "motor", "redis"),
    **_alone("kafka", "aiokafka", "pika", "aio_pika", "nats", "ldap3", "cassandra", "neo4j", "clickhouse_driver"),
    **_over(("sqlite3",), "aiosqlite"),
    **_native("psycopg2", "duckdb", "pyodbc", "cx_Oracle", "oracledb", "MySQLdb", "confluent_kafka", "zmq", "lancedb"),
    # C libraries with sockets of their own
    **_native("pycurl", "curl_cffi", "primp", "tls_client", "pywebpush", "ibm_db"),
    "ctypes": Client(("ctypes",), native=True, fix=(TOOL,)),
    "cffi": Client(("cffi",), native=True, fix=(TOOL,)),
    # models in the process: they send no request, but their calls are not recorded either
    **_native("llama_cpp", "vllm", "onnxruntime", "ctransformers", "mlx_lm", fix=(_MODEL,)),
    **_alone("transformers", "sentence_transformers", fix=(_MODEL,)),
    **_native("faiss", "hnswlib", "annoy", fix=(_RETRIEVER,)),
    # flags
    **_alone("openfeature", fix=('reenact.note("flag.NAME", value)',)),
    **_over(_URLLIB3, "UnleashClient"),
}
"""Import name to client. Of several names with which an import begins, the longest counts."""

LEAST: Mapping[str, tuple[int, ...]] = {
    "mcp": (2,),
    "websockets": (17, 1),
    "httpx": (0, 23),
    "urllib3": (1, 26),
    "aiohttp": (3, 8),
    "requests": (2, 26),
    "openai": (1,),
    "anthropic": (0, 18),
}
"""The lowest version of each distribution whose internals the seams know."""


def client_of(module: str) -> tuple[str, Client] | None:
    """The client that an imported module belongs to: its import name, and its facts."""
    name = module
    while name:
        found = CLIENTS.get(name)
        if found is not None:
            return name, found
        name = name.rpartition(".")[0]
    return None


def way_in(client: Client, hooked: Iterable[str]) -> str:
    """The module with a seam that a client goes through; empty where there is none."""
    names = tuple(hooked)
    for way in client.through:
        if any(name == way or name.startswith(f"{way}.") for name in names):
            return way
    return ""


def too_old(distribution: str, version: str) -> str:
    """The lowest supported version of a distribution, if ``version`` is lower; else empty."""
    least = LEAST.get(distribution)
    if least is None or not version:
        return ""
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return ".".join(map(str, least)) if numbers and numbers < least else ""
