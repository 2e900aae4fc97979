"""What task kinds of one sort have in common."""
