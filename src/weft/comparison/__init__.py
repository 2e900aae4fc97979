"""Comparison: methods side by side on the same data, seeds and budget, and how surely one of them is better."""
