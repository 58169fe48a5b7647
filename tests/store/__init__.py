"""The store against a real SQLite file."""
