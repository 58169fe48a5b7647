"""Real servers for tests: pinned, built into a cache, started on loopback, stopped by recorded ids.

See README.md in this folder. Nothing here is part of the product.
"""
