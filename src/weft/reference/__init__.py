"""What can be written into a config, told from the Specs themselves: for terminals, pages and editors."""
