"""One recorded model call, sent again: the request, its host and key, and the comparison of the answers."""
