"""The library of cassettes: paths, provenance, loading, saving and digests.

Usage:

    path = path_for("xai.grpc", "single-call", stream=True)
    cassette = load(path)            # .requests, .responses, .metadata, .provenance, .exchanges
    save(path, interactions, provenance, checks=(scrubbed, scanned))
"""

from __future__ import annotations

from .files import RECORDED, Cassette, CassettePath, exchanges, file_for, find, forget, load, path_for, provenance_of
from .provenance import KEY, ORIGINS, Origin, Provenance, digest, now
from .writing import Check, Persister, interaction, save

__all__ = [
    "KEY",
    "ORIGINS",
    "RECORDED",
    "Check",
    "Cassette",
    "Origin",
    "Persister",
    "CassettePath",
    "Provenance",
    "digest",
    "exchanges",
    "file_for",
    "find",
    "forget",
    "interaction",
    "load",
    "now",
    "path_for",
    "provenance_of",
    "save",
]
