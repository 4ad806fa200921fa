"""Verification of an endpoint: which tool calls of a provider, vendor or local server come out right, and how often."""
