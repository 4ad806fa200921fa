"""The corpus that the tests cut into parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audit.bulk.corpus import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "logs")
