"""Values as data."""
