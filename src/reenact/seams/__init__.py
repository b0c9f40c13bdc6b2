"""Contact with the world: every place where the agent's code crosses into something that could answer otherwise."""
