"""Tests of the verification of endpoints."""
