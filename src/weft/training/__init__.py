"""Training: batches, optimizer, gradients and the loop that joins them, one part per file."""
