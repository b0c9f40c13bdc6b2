"""Programs that touch more of the world than model calls, through the public commands on real files and processes."""
