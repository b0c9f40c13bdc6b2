"""Every contract a third party may implement: sources of time and entropy, sessions, stores, redactors."""
