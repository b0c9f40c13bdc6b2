"""Completion in the shell: gives bash, zsh and fish the words that fit at the cursor, in well under 100 ms."""
