"""What the stores are held to: one suite over every back end, and the faults of the file beneath."""
