"""Tools, models, retrievers and steps."""
