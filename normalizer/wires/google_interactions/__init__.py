"""The wire `google.interactions`."""
