"""The commands: each module defines one click command named ``command``, and is imported when its command is
invoked."""
