"""Recording: performs every crossing, and notes its result."""
