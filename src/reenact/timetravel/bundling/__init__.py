"""Runs as files: a run and all that belongs to it, cleaned once more, is packed into one file, and such a file is
unpacked into a store."""
