"""The normalizer: raw traffic of every wire into one canonical form, and back. `toolparity` has its public names."""
