"""Audits of input in parts."""
