"""An agent of the OpenAI Agents SDK."""

from agents import Agent, Runner, set_tracing_disabled

set_tracing_disabled(True)
print(Runner.run_sync(Agent(name="greeter", model="gpt-x"), "hello").final_output)
