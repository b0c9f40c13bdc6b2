"""A provider of feature flags, and hooks that tell what was asked."""

import os

from openfeature import api
from openfeature.evaluation_context import EvaluationContext  # noqa: F401 - the agent has it from here
from openfeature.exception import ErrorCode, FlagNotFoundError, ProviderFatalError
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.hook import Hook
from openfeature.provider import AbstractProvider, Metadata


class Wild(AbstractProvider):
    "Answers otherwise every time it is asked by another process, and leaves a mark for each question."

    def get_metadata(self):
        return Metadata("wild")

    def initialize(self, evaluation_context):
        if os.path.exists("broken"):
            raise ProviderFatalError("no contact")

    def _asked(self, key, default, kind):
        with open("marks", "a") as marks:
            marks.write(key + "\n")
        if key == "missing":
            raise FlagNotFoundError("no such flag")
        if key == "crash":
            raise ValueError("crashed")
        if key == "fault":
            return FlagResolutionDetails(default, error_code=ErrorCode.TARGETING_KEY_MISSING, error_message="who?")
        value = {
            "bool": True,
            "str": f"{os.urandom(4).hex()}",
            "int": int.from_bytes(os.urandom(4), "big"),
            "float": 0.5,
            "object": {"tiers": ["a", {"b": None}], "pid": os.urandom(2).hex()},
        }[kind]
        return FlagResolutionDetails(value, variant="v1", reason=Reason.SPLIT, flag_metadata={"rule": 7})

    def resolve_boolean_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "bool")

    def resolve_string_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "str")

    def resolve_integer_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "int")

    def resolve_float_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "float")

    def resolve_object_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "object")


class Telling(Hook):
    def before(self, hook_context, hints):
        print("before", hook_context.flag_key)

    def after(self, hook_context, details, hints):
        print("after", details.value, details.variant, repr(details.reason))

    def error(self, hook_context, exception, hints):
        print("error", type(exception).__name__, exception)


try:
    api.set_provider_and_wait(Wild())
except ProviderFatalError:
    pass
api.add_hooks([Telling()])
client = api.get_client()
