"""Replaying: answer every crossing from the log while the agent's own code runs, and prove it."""
