"""OpenTelemetry's protocol as a file, in every dialect of attribute names for model calls."""
