"""Handrail: the model plans, fixed hands act, people hold the rail."""

__version__ = "0.2.0.dev0"
