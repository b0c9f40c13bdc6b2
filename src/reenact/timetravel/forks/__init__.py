"""Forks: runs whose first part is answered from the parent's recording, and which then continue on their own.

The moment between the two, at which the fork comes to its branching event, is called the *cut*.
"""
