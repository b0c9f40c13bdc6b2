"""Replays of imported runs in which a model is asked what the import does not tell."""
