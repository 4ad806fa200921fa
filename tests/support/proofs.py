"""The proofs that the plain run keeps: a case that passed for each law, known failure, class of faults and known-bad
subject.

A test names what it proves by its name (``test_IDX_01_…``), by its file (``FAULT_CLASSES``), or with the
fixture ``proves``. The summary of a whole plain run names what is missing, and fails the run.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Files with the tests of one class of faults that real traffic, clients or operators once met. None may disappear.
FAULT_CLASSES = frozenset(
    f"tests/{folder}/test_{name}.py"
    for folder, names in {
        "audit/bulk": "merging",
        "cassettes/interchange": "body_encodings emulated_imports imported_addresses incomplete_sources",
        "cassettes/recorder": "diff_levels record_into",
        "cassettes/replay": "served_addresses",
        "cassettes/secrets": "echoed_credentials named_secrets vendor_keys",
        "cassettes/sources": "compressed_files directories request_response_rows several_bodies",
        "normalizer/history": "reported_losses",
        "normalizer/readers": "single_newlines",
        "normalizer/wires": "changed_ids leaked_markup_and_empty_calls members_between_chunks misplaced_deltas "
        "openai_chat_call_identity openai_chat_misplaced_arguments openai_responses_misplaced_deltas repeated_calls "
        "stop_words terminal_events unfinished_status xai_grpc_misplaced_arguments xai_grpc_server_tools",
        "reports": "published_claims",
        "toolparity": "names_and_help untyped_exceptions unwritable_output",
        "turns": "decided_twice declared_tools half_surrogate_pairs overload unusual_ends",
        "turns/log": "frozen_database linear_size",
    }.items()
    for name in names.split()
)
#: The name of the property of a report with the ids that its case proves.
PROPERTY = "proves"
_FAILURES = re.compile(r"test_((?:[A-Z][A-Z0-9]*_[0-9]+_)+)")


class Missing(NamedTuple):
    """The ids of one kind that no case of a run has proved, and how many there are of this kind."""

    kind: str
    ids: list[str]
    count: int


def failures_in(name: str) -> set[str]:
    """Return the known failures that the name of a test function begins with, such as ``test_IDX_01_IDX_02_…``."""
    match = _FAILURES.match(name)
    return {"-".join(id) for id in re.findall(r"([A-Z][A-Z0-9]*)_([0-9]+)_", match[1])} if match else set()


def proved_by(nodeid: str) -> set[str]:
    """Return the ids that a case proves by its name or its file."""
    path, _, name = nodeid.partition("::")
    proved = failures_in(name.rpartition("::")[2])
    return proved | {path} if path in FAULT_CLASSES else proved


def missing(proved: set[str]) -> list[Missing]:
    """Return what is missing of each kind, whether or not there is any."""
    return [Missing(kind, sorted(ids - proved), len(ids)) for kind, ids in expected().items()]


def expected() -> dict[str, set[str]]:
    """Return the ids of each kind of proof."""
    from tests.normalizer.failures import test_trace
    from toolparity.conformance.cases import coverage
    from toolparity.conformance.known_bad import known_bad
    from toolparity.conformance.laws import LAWS, SERVER_LAWS

    return {
        "laws": {f"law {id}" for id in (*LAWS, *SERVER_LAWS)},
        "known-bad subjects": {f"known-bad {name}" for name in known_bad()},
        "known failures": set(coverage.failures()) - set(test_trace.reasons()),
        "classes of faults": set(FAULT_CLASSES),
    }
