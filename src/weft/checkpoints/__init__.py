"""Encoders and runs on disk, without pickle."""
