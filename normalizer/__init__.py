"""Conversion between the raw traffic of every wire and one canonical form. `toolparity` exports the public names."""
