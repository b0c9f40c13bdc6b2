"""Strands, order and divergence under concurrency."""
