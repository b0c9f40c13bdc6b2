"""Golden traces: recorded runs that are kept as regression tests, in files beside the tests."""
