"""Recording: perform every crossing, and note what came back."""
