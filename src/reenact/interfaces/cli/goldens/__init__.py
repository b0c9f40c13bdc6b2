"""The commands about goldens, a module each; imported when invoked."""
