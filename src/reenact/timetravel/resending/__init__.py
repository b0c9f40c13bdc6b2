"""One recorded model call sent again: what is sent, where to and with which key, and how the answers differ."""
