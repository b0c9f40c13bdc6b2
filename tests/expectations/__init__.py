"""Expectations over runs, and whether they are strong enough to be tests."""
