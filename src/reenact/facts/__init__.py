"""Frozen values that the whole house speaks in: no IO, no clock, no randomness."""
