"""The small API for tests that do not re-execute a whole agent."""
