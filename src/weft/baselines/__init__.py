"""What an encoder must beat: arrays and texts in, answers out; no torch."""
