"""Logs of model calls: rows of JSON, each of which belongs to a run."""
