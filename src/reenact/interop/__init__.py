"""Open formats, in and out: recordings of other tools become runs, and a run becomes a file that they can read."""
