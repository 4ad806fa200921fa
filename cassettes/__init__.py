"""Recorded traffic: reading it from files of every kind, with its provenance."""
