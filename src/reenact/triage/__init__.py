"""Judging recorded runs: the replay kit of one and its non-determinism budget."""
