"""The wire `google.gemini`."""
