"""Pure: every decision. Time, randomness and ids are arguments; nothing here awaits, logs or reads a clock."""
