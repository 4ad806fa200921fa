"""Recorded provider traffic: import, storage with provenance, recording, replay, and emulated providers."""
