"""Rules of suspicion: each marks what it should and leaves the ordinary alone, over pure courses and recorded runs."""
