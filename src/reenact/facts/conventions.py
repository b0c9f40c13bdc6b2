"""Conventional environment variables: facts of CI systems, containers and platforms about the code and place of a run.

They give facts that a process cannot find out by itself: a container image has no ``.git``, and no SDK knows its
region. No service is asked for them. Variables that hold credentials are not in the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

CONVENTIONS: Mapping[str, tuple[str, ...]] = {
    "commit": (
        "GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "TRAVIS_COMMIT",
        "BITBUCKET_COMMIT", "BUILD_SOURCEVERSION", "DRONE_COMMIT_SHA", "CODEBUILD_RESOLVED_SOURCE_VERSION",
        "VERCEL_GIT_COMMIT_SHA", "RENDER_GIT_COMMIT", "RAILWAY_GIT_COMMIT_SHA", "HEROKU_SLUG_COMMIT", "SOURCE_COMMIT",
        "GIT_SHA", "COMMIT_SHA",
    ),
    "branch": (
        "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH", "BUILDKITE_BRANCH", "CIRCLE_BRANCH", "TRAVIS_BRANCH",
        "BITBUCKET_BRANCH", "BUILD_SOURCEBRANCHNAME", "DRONE_BRANCH", "VERCEL_GIT_COMMIT_REF", "RENDER_GIT_BRANCH",
    ),
    "image": ("IMAGE_DIGEST", "CONTAINER_IMAGE", "DOCKER_IMAGE", "IMAGE_NAME", "IMAGE_TAG", "FLY_IMAGE_REF"),
    "region": (
        "AWS_REGION", "AWS_DEFAULT_REGION", "GOOGLE_CLOUD_REGION", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION",
        "AZURE_REGION", "REGION_NAME", "FLY_REGION", "VERCEL_REGION", "RAILWAY_REPLICA_REGION",
    ),
    "build": ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_NUMBER", "BUILDKITE_BUILD_NUMBER", "CIRCLE_BUILD_NUM"),
    "service": ("OTEL_SERVICE_NAME", "K_SERVICE", "ECS_SERVICE_NAME", "FLY_APP_NAME", "RENDER_SERVICE_NAME"),
    "version": ("K_REVISION", "SERVICE_VERSION", "APP_VERSION", "HEROKU_RELEASE_VERSION", "DD_VERSION"),
}  # fmt: skip
"""The variables for each fact; the first one that is set counts."""

VARIABLES = frozenset(name for names in CONVENTIONS.values() for name in names) | {"OTEL_RESOURCE_ATTRIBUTES"}
"""All variables that are read."""

_LONGEST = 256
_TRACEPARENT = lazy_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_OF_RESOURCES = {"service.version": "version", "service.name": "service", "cloud.region": "region"}


def conventional(environment: Mapping[str, str]) -> dict[str, Json]:
    """The facts that the environment gives by convention.

    Args:
        environment: Name to value.

    Returns:
        Fact (``commit``, ``branch``, ``image``, ``region``, ``build``, ``service``, ``version``) to ``value`` and
        ``variable``; facts without a variable are absent. About 15 µs.
    """
    found: dict[str, Json] = {}
    for fact, names in CONVENTIONS.items():
        for name in names:
            value = environment.get(name, "")
            if value and len(value) <= _LONGEST:
                found[fact] = {"value": value, "variable": name}
                break
    for pair in environment.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, _, value = pair.partition("=")
        resource = _OF_RESOURCES.get(key.strip())
        if resource and value and resource not in found:
            found[resource] = {"value": value.strip()[:_LONGEST], "variable": "OTEL_RESOURCE_ATTRIBUTES"}
    return found


def is_traceparent(text: object) -> bool:
    """Whether a text has the form of a W3C ``traceparent``, and names a trace."""
    return isinstance(text, str) and _TRACEPARENT.fullmatch(text) is not None and text[3:35] != "0" * 32
