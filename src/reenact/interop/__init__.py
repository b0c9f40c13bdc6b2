"""Open formats, in and out: what other tools have recorded becomes a run, and a run becomes what they can read."""
