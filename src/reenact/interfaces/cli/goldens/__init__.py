"""The commands about goldens. Each has a module, which is imported when the command is invoked."""
