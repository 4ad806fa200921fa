"""The suite as pytest items, and the results of a pytest run."""
