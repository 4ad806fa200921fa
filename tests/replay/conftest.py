"""Clients of SDKs share what they read."""

from tests import sdk_data  # noqa: F401
