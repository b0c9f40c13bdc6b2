"""Experiments: each row of a dataset (goldens, stored runs) on each candidate, as often as asked, row by row."""
