"""Traces that other tools keep as trees in JSON: what each calls a span, and where it stands."""
