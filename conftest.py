"""Fixtures of the real servers are shared by all tests; each starts its server only when a test asks for it."""

pytest_plugins = ["tests.servers.fixtures"]
