"""Tests of the write gate."""
