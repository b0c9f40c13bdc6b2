"""Moving about in recorded runs: fork a run at an event, resume a run from its head, compare two runs."""
