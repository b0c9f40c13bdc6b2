"""Programs as engineers write them, recorded and replayed through the public commands alone."""
