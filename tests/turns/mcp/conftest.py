"""The hook that runs the asynchronous tests."""

from tests.turns.log.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
