"""Programs that start processes."""
