"""The law `stream-form`, about what a server sends to its clients. It judges gateways only: readers send no streams."""

from __future__ import annotations

from .law import Law

SERVER_LAWS: dict[str, Law] = {
    "stream-form": Law(
        "stream-form",
        "must",
        "A stream that a server sends has the form of its wire: each part starts once and ends once, in order, one"
        " terminal event ends it, and content arrives while the provider still sends.",
        frozenset(("stream",)),
        applies=lambda evidence: evidence.case.stream,
        check=lambda evidence: iter(()),  # `gateway.http_rules` finds the failures, in the bytes of the replies
    ),
}
