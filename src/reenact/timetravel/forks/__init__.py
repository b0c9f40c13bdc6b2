"""Forks: a run whose prefix is answered from its parent's recording, and which continues on its own."""
