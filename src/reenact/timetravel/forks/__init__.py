"""Forks: a run whose prefix is answered from its parent's recording, and which goes on from there by itself."""
