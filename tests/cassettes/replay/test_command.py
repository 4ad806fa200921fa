"""The options of `toolparity serve`."""

from __future__ import annotations

import json
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.programs import interruptible
from toolparity.cassettes.cli.serve import command

pytestmark = pytest.mark.service("cassettes/cli/serve.py", "cassettes/replay", "cassettes/emulated")


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (["--fault", "bogus"], "unknown fault: 'bogus' (one of status, html"),
        (["--upstream", "https://api.openai.com"], "--upstream records into a library: name it with --library"),
        (["--library", "x", "--upstream", "ftp://host"], "not the address of a server: 'ftp://host'"),
        (["--library", "x", "--upstream", "https://me:it@host"], "the address contains credentials"),
        (["--library", "x", "--upstream", "https://host?key=it"], "the address contains credentials or a query"),
        (["--library", "x", "--upstream", "http://[::1"], "not the address of a server: Invalid IPv6 URL"),
        (["--library", "x", "--upstream", "http://host:99999"], "not the address of a server: Port out of range"),
        (["--library", "x", "--upstream", "opanai=http://host"], "unknown provider: 'opanai'; did you mean openai?"),
        (
            ["--library", "x", "--upstream", "http://a", "--upstream", "http://b"],
            "the other providers have two upstreams",
        ),
        (["--library", "nowhere"], "Directory 'nowhere' does not exist"),
        (["--ca-file", "ca.pem"], "--ca-file needs --tls"),
        (["text-only", "zz-typo"], "unknown scenario in the library: 'zz-typo'; known: "),
        (["--port", "65536"], "65536 is not in the range"),
        (["--grpc-port", "-1"], "-1 is not in the range"),
        (["--delay", "-1"], "-1.0 is not in the range"),
        (["--delay", "inf"], "inf is not in the range"),
        (["--delay", "nan"], "the delay must be a number"),
    ],
)
def test_the_command_refuses_options_that_do_not_fit(given: list[str], printed: str) -> None:
    ended = CliRunner().invoke(command, given)
    assert ended.exit_code == 2
    assert printed in " ".join(ended.output.replace("│", " ").split())


def test_the_command_serves_on_tls_with_a_fault_and_an_upstream(tmp_path: Path) -> None:
    ca, library = tmp_path / "ca.pem", tmp_path / "library"
    options = ["--tls", "--ca-file", str(ca), "--fault", "html=503"]
    upstream = ["--library", str(library), "--upstream", "openai=http://127.0.0.1:9"]
    with interruptible([sys.executable, "-m", "toolparity", "serve", *options, *upstream]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        base = process.stdout.readline().rstrip("\n").partition("\t")[2]
        assert base.startswith("https://127.0.0.1:")
        printed = [process.stderr.readline() for _ in range(3)]
        assert printed[0].startswith(f"certificate of the authority: {ca}")
        assert printed[2] == f"page: {base.removesuffix('openai/v1')}\n"
        context = ssl.create_default_context(cafile=str(ca))
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
        for headers, status in (({}, 503), ({"x-toolparity-fault": "delay=0"}, 502)):
            request = urllib.request.Request(base + "/chat/completions", body, headers)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, context=context)
            with refused.value as answer:
                assert answer.code == status
