"""Logs of model calls: rows of JSON, of which each belongs to a run."""
