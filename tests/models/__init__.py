"""Tests of the readings of model calls."""
