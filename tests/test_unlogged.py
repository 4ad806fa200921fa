"""The log of dropped calls is silent while parts are audited, and speaks again afterwards."""

from __future__ import annotations

import logging

from toolparity.conformance.audit.exchange import unlogged


def test_audits_that_overlap_in_two_threads_leave_the_log_as_it_was() -> None:
    log = logging.getLogger("toolparity")
    first, second = unlogged(), unlogged()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert log.disabled
    second.__exit__(None, None, None)
    assert not log.disabled
