"""Answers of models, written in the wire formats of their providers: pure, from a request and the answer's content."""
