"""One thin package for each outside thing; none knows another."""
