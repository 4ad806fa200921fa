"""The first use of each type in several threads at once, which crashes a process if msgspec builds the type then."""

from __future__ import annotations

import subprocess
import sys

#: Small time slices make a switch of threads while a type is built likely.
PROGRAM = """
import sys
from threading import Barrier, Thread
from toolparity import Response, StreamDecoder, read_request
from toolparity.normalizer import json_codec

sys.setswitchinterval(1e-6)
MESSAGE = b'{"role": "user", "content": [{"type": "text", "text": "a"}], "parts": [{"text": "a"}]}'
REQUEST = b'{"model": "m", "%s": [' + MESSAGE + b']}'
MEMBERS = {"google.gemini": b"contents", "google.interactions": b"input", "openai.responses": b"input"}


def in_threads(use):
    barrier, failed = Barrier(8), []

    def run():
        barrier.wait()
        try:
            use()
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


for wire in sys.argv[1:]:
    def use():
        StreamDecoder(wire).finish()
        read_request(REQUEST % MEMBERS.get(wire, b"messages"), wire)

    in_threads(use)
response = {"wire": "x", "provider": None, "id": None, "model": None, "choices": []}
in_threads(lambda: json_codec.convert(response, Response))
"""


def test_types_that_several_threads_use_first_at_once_do_not_crash() -> None:
    wires = ["anthropic.messages", "openai.chat", "openai.responses", "google.gemini", "google.interactions"]
    command = [sys.executable, "-c", PROGRAM, *wires, "bedrock.converse", "cohere.chat", "ollama.chat"]
    for _ in range(4):  # without the lock, a third of the runs crashed
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr[-2000:]
