"""What a replay does to the world: nothing."""
