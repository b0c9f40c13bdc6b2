"""Handing runs on: what belongs to one, cleaned once more, as one file; and such a file taken into a store."""
