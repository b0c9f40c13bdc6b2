"""Completion in the shell: the words that fit at the cursor, given to bash, zsh and fish in well under 100 ms."""
