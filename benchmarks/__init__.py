"""Benchmarks of the normalizer against other readers of the same bytes: `python -m benchmarks`."""
