"""Contact with the world: every place where the agent's code calls something that may answer differently later."""
