"""Tests of the audit of conversations."""
