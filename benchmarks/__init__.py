"""How fast the normalizer is, beside what else reads the same bytes: `python -m benchmarks`."""
