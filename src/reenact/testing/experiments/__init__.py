"""Experiments: each row of a dataset (goldens, stored runs) is run on each candidate, once or several times."""
