"""MCP's own conformance suite for clients, with `conformance_client` as the client."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.optional import package

from .scenarios import FAILING, SCENARIOS
from .serving import program

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")

CLIENT = Path(__file__).with_name("conformance_client.py")


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("scenario", [*SCENARIOS, *FAILING])
def test_the_client_passes_the_scenario_of_the_conformance_suite(scenario: str, tmp_path: Path) -> None:
    suite = program("conformance")
    command = [suite, "client", "--command", f"{sys.executable} {CLIENT}", "--scenario", scenario]
    folders = os.pathsep.join([str(Path(suite).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": folders, "PYTHONPATH": str(CLIENT.parents[3])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if "does not provide an export named" in done.stderr:
        pytest.skip("the conformance suite needs a later version of Node.js")
    passed = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", done.stdout + done.stderr)
    assert passed is not None, done.stdout + done.stderr
    if scenario in FAILING:
        assert done.returncode == 1, f"remove {scenario} from FAILING"
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed.groups() == (str(SCENARIOS[scenario]), str(SCENARIOS[scenario]), "0")
