"""Benchmarks: CPU seconds per million events, side by side with the rival in one run."""
