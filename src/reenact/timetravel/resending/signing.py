"""Signing a request to Bedrock now, with the credentials of today, by botocore's own signer."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from reenact.errors import UnreplayableRun

_SERVICE: Final = "bedrock"
_OLD: Final = ("authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256")


def signed(method: str, url: str, headers: Mapping[str, str], body: bytes, region: str) -> dict[str, str]:
    """The headers of a request with a signature of this moment.

    Args:
        method, url, body: The body to send.
        headers: Its headers; an old signature in them is left out.
        region: The region of the recorded request.

    Raises:
        UnreplayableRun: botocore is not installed, or finds no credentials.
    """
    try:
        auth = import_module("botocore.auth")  # only Bedrock needs it, and it takes a second to load
        session, requests = import_module("botocore.session"), import_module("botocore.awsrequest")
    except ImportError:
        raise UnreplayableRun(
            "a request to Bedrock must be signed, and botocore is not installed",
            cause="a signature is good for minutes: a recorded one cannot be sent again",
            next_command="pip install botocore",
        ) from None
    credentials = session.Session().get_credentials()
    if credentials is None:
        raise UnreplayableRun(
            "there are no AWS credentials here",
            cause="a recording holds no key: a request to Bedrock is signed with those of today's environment",
            next_command="export AWS_PROFILE=…",
        )
    plain = {name: value for name, value in headers.items() if name.lower() not in _OLD}
    request = requests.AWSRequest(method=method, url=url, data=body, headers=plain)
    auth.SigV4Auth(credentials.get_frozen_credentials(), _SERVICE, region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}
