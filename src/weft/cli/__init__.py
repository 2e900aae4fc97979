"""The `weft` command: one file per verb."""
