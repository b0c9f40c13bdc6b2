"""How good the rules and the ranking of steps are, measured on other people's failures and on our own healthy runs."""
