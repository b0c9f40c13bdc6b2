"""Programs that are recorded and replayed from outside."""
