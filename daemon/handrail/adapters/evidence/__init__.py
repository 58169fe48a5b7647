"""What each source says about a broken object, as bounded and redacted pieces of evidence. Pure but for the asking."""
