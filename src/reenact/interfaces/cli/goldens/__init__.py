"""The commands about goldens, a module each; loaded when one is asked for."""
