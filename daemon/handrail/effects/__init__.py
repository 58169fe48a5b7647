"""What the daemon does between two journal entries: one file for each effect that core/saga.py can ask for.

An effect looks at the world or writes to it, and hands back what to record; it decides nothing that core decides.
"""
