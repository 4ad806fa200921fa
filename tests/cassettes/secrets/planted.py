"""Secrets planted in every place and spelling: a cassette each."""

from __future__ import annotations

from tests.cassettes.secrets import plants_grpc, plants_packed, plants_plain

PLANTS = [
    *plants_plain.forms(),
    *plants_plain.in_sentences(),
    *plants_plain.headers(),
    *plants_plain.addresses(),
    *plants_plain.bodies(),
    *plants_packed.packed(),
    *plants_packed.split(),
    *plants_packed.environment(),
    *plants_grpc.grpc_calls(),
]
