"""The options that change the result of an audit. The audits of parts can be merged only if they were made with the
same ones.
"""

from __future__ import annotations

from msgspec import Struct

from toolparity.normalizer.model import Policy, Wire


class AuditOptions(Struct, frozen=True):
    """What to count, and how to read the input.

    ``policy``: calls that it drops or rejects are counted as findings. ``limit``: how many calls a policy keeps.
    ``wire``: the wire of input that does not show it. ``format``: a key of `toolparity.cassettes.sources.FORMATS`, by
    default the format that each file shows. ``columns``: see `toolparity.cassettes.sources.read`.
    """

    policy: Policy = "all"
    limit: int | None = None
    wire: Wire | None = None
    format: str | None = None
    columns: tuple[str, ...] = ()
