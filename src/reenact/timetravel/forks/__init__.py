"""Forks: runs that are answered from the parent's recording up to a point, the *cut*, and then go on by themselves."""
