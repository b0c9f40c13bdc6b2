"""Tests of the project itself: its house rules, its public surface and its documents."""
