"""Traces that other tools keep as trees in JSON: the names and places of their spans."""
