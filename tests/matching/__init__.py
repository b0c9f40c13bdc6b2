"""The ladder by which a call finds its recording."""
