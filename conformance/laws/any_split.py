"""The law `any-split`: the boundaries of network pieces have no effect on the result."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.cassettes.surfaces import SURFACES

from ..cases.case import Evidence
from .common import Failure, call_list

SENTENCE = "The same bytes, cut at any place, give the same response."
LEVEL = "must"
CLAIMS = ("stream",)
#: The ways in which the bytes are split again (`toolparity.cassettes.chunking`).
CUTS = ("ends", "odd", "utf8", "merged", "whole")


def applies(evidence: Evidence) -> bool:
    """Applies to streamed cases, once for all policies. gRPC messages always arrive complete, so they are not split."""
    case = evidence.case
    return case.stream and case.policy == "all" and SURFACES[case.surface].wire != "xai.grpc"


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the answers to each split with the answers to the recorded pieces."""
    for cut in CUTS:
        for one, other in zip(evidence.rounds, evidence.sibling(evidence.case, cut) or [], strict=True):
            if one.answer != other.answer:
                yield Failure(
                    one.number,
                    f"cut otherwise ({cut}), the same bytes give another answer",
                    call_list(one.answer.calls) if one.answer.error is None else one.answer.error,
                    call_list(other.answer.calls) if other.answer.error is None else other.answer.error,
                )
