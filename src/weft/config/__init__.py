"""The config file as Specs."""
