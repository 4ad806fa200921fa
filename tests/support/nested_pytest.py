"""pytest within a test, in this process: a run of another project's tests without the start of an interpreter."""

from __future__ import annotations

import gc
import importlib
import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

#: No plug-ins but pytest's and ours, and none that changes hooks of the interpreter, which the outer run has.
_OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:threadexception", "-p", "no:unraisableexception"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "toolparity.pytest_plugin"),
)


class Ended(NamedTuple):
    """What a run returned and printed."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str, **environment: str) -> Ended:
    """Run pytest in a folder, with nothing of this project's settings. The modules of the folder are forgotten."""
    out, err = io.StringIO(), io.StringIO()
    with _restored(folder), pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        for name, value in {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "dont_write_bytecode", True)  # a file may change twice within a second
        patch.delenv("PYTEST_XDIST_WORKER", raising=False)
        code = pytest.main([*_OPTIONS, "--rootdir", str(folder), *arguments])
    return Ended(int(code), out.getvalue(), err.getvalue())


@contextmanager
def _restored(folder: Path) -> Iterator[None]:
    """Restore the import path and forget the modules of a folder. Warnings are not errors, as in the outer run."""
    path = sys.path[:]
    importlib.invalidate_caches()
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.simplefilter("ignore", ResourceWarning)
            yield
            gc.collect()  # sockets of refused connections
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
