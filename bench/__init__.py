"""What reenact costs, measured side by side with its neighbours in one run: ``make bench``."""
