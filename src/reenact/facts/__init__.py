"""Frozen values that all other packages use: no IO, no clock, no randomness."""
