"""The suite of reenact; ``tests/README.md`` says where a test goes."""
