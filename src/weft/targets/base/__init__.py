"""What kinds of targets have in common."""
