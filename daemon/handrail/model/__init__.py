"""Frozen values and contracts: the words every other room speaks. No IO, no clock, no environment."""
