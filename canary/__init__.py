"""The canary: are calls of the newest SDKs still captured? ``make canary`` asks; no part of ``make test``."""
