"""Tests of scenarios that a user writes."""
