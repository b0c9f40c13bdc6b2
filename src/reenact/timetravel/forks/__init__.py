"""Forks: runs whose first part is answered from the parent's recording, and which then continue on their own."""
