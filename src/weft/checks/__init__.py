"""Everything that is wrong or odd about a config and its files, found at once, before any training."""
