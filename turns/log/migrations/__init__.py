"""Migrations of the turn log's tables: one file per version, not changed after its release."""
