"""An agent of Pydantic AI."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

print(Agent(OpenAIChatModel("gpt-x")).run_sync("hello").output)
