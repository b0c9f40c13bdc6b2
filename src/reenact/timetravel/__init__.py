"""Moving about in recorded runs: fork one at an event, resume it from its head, compare it with another."""
