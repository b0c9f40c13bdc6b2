"""Contact with the world: every place where the agent's code calls something that could answer differently the next
time."""
