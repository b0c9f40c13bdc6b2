"""A research agent as a package of several files: ``python -m researcher TOPIC``."""
