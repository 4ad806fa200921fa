"""Clients of SDKs share what they read."""
