"""Results and how they are shown. Knows nothing of providers."""
