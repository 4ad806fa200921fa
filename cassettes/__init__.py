"""Recorded provider traffic: import, storage with provenance, recording, replay, and emulated providers."""

import os

if not os.path.isdir(os.path.join(__path__[0], "vcr_grpc")):  # as in `toolparity/__init__.py`
    __path__.append(os.path.join(os.path.dirname(__path__[0]), "dists", "vcrpy-grpc"))
