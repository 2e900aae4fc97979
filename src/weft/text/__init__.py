"""Text without torch: reading, tokenizing, labels."""
