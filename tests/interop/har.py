"""The rules of HAR 1.2, as its specification states them: which fields there must be, and of which type."""

from __future__ import annotations

from datetime import datetime
from typing import Any

_NUMBER = (int, float)
_HEADER = {"name": str, "value": str}
_LOG = {"version": str, "creator": dict, "entries": list}
_ENTRY = {"startedDateTime": str, "time": _NUMBER, "request": dict, "response": dict, "cache": dict, "timings": dict}
_REQUEST = {
    "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
    "headersSize": int, "bodySize": int,
}  # fmt: skip
_RESPONSE = {
    "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
    "redirectURL": str, "headersSize": int, "bodySize": int,
}  # fmt: skip


def require(archive: Any) -> None:
    """Fails for an archive that breaks a rule."""
    log = archive["log"]
    _has(log, _LOG)
    assert log["version"] == "1.2"
    _has(log["creator"], {"name": str, "version": str})
    started = []
    for entry in log["entries"]:
        _has(entry, _ENTRY)
        started.append(datetime.fromisoformat(entry["startedDateTime"]))
        assert started[-1].tzinfo is not None
        _timings(entry)
        _has(entry["request"], _REQUEST)
        _has(entry["response"], _RESPONSE)
        for side in (entry["request"], entry["response"]):
            for each in [*side["headers"], *side["cookies"], *side.get("queryString", [])]:
                _has(each, _HEADER)
        _bodies(entry)
    assert started == sorted(started)


def _timings(entry: Any) -> None:
    timings = entry["timings"]
    _has(timings, {"send": _NUMBER, "wait": _NUMBER, "receive": _NUMBER})
    assert min(timings.values()) >= 0
    assert abs(entry["time"] - sum(timings.values())) < 0.01


def _bodies(entry: Any) -> None:
    posted = entry["request"].get("postData")
    if posted is not None:
        _has(posted, {"mimeType": str, "text": str})
    content = entry["response"]["content"]
    _has(content, {"size": int, "mimeType": str, "text": str})
    assert content.get("encoding") in (None, "base64")
    if "encoding" not in content:
        assert content["size"] == len(content["text"].encode())
    assert content["size"] - content.get("compression", 0) == entry["response"]["bodySize"]


def _has(value: Any, fields: dict[str, Any]) -> None:
    for name, kind in fields.items():
        assert isinstance(value[name], kind), f"{name} is {value[name]!r}"
        assert not isinstance(value[name], bool)
