"""Measurements, not tests: nothing here asserts a time."""
