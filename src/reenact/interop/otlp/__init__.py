"""OpenTelemetry's protocol as a file, in every dialect of names that model calls are told in."""
