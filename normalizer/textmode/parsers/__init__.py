"""Parsers of the notations in which models write calls, shared by the dialects."""
