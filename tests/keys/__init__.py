"""Tests of keys and of the structural difference."""
