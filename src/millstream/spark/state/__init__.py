"""Saved state as lists of rows: read from a checkpoint, by operator."""
