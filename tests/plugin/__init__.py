"""The pytest plugin, used as people use it: real sessions of pytest in projects with goldens."""
