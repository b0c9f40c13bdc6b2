"""Structured answers (openai parse with pydantic, dataclasses); an answer that does not fit ends the program."""

import dataclasses
import sys

from openai import OpenAI
from pydantic import BaseModel, Field, ValidationError


class Review(BaseModel):
    title: str
    score: int = Field(ge=0, le=9)
    tags: list[str] = []


@dataclasses.dataclass(frozen=True)
class Verdict:
    number: int
    review: Review
    attempts: int = 1


class Hopeless(Exception):
    def __init__(self, number: int, errors: int) -> None:
        super().__init__(f"document {number} failed {errors} times")
        self.number = number


client = OpenAI()


def extract(number: int) -> Verdict:
    errors: list[str] = []
    for attempt in range(1, 3):
        try:
            reply = client.chat.completions.parse(
                model="gpt-4o",
                messages=[{"role": "user", "content": f"document {number}; earlier errors: {errors}"}],
                response_format=Review,
            )
            return Verdict(number, reply.choices[0].message.parsed, attempt)
        except ValidationError as error:
            errors.append(str(error))
            print("retrying", number, error.error_count(), "errors", file=sys.stderr)
    raise Hopeless(number, len(errors))


for number in range(12):
    print(dataclasses.asdict(extract(number)))
