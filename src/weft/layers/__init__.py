"""Mathematics without tasks."""
