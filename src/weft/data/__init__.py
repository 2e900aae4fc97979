"""Rows in and out of files, cells, annotations and splits; no torch."""
