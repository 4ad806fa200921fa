"""What the scrubber does not undo, the scanner refuses; and no name excuses a key."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest

from tests.cassettes.secrets.cassettes import answer, cassette
from tests.cassettes.secrets.fakes import env_key, fake, letters
from toolparity.cassettes.secrets import scan


def _wrapped(text: str) -> str:
    packed = base64.b64encode(f"a longer text that comes before it, and then {text}".encode()).decode()
    return "\n".join(packed[at : at + 76] for at in range(0, len(packed), 76))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "hex": lambda key: key.encode().hex(),
    "hex in pairs": lambda key: key.encode().hex(" "),
    "base64 in lines": _wrapped,
    "HTML": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(char):x};" for char in key),
    "unseen letters": lambda key: f"{key[:12]}\u200b{key[12:]}",
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("form", ["openai", "anthropic", "github"])
def test_an_encoded_key_is_refused(spell: Callable[[str], str], form: str) -> None:
    assert scan(cassette(response=answer(f"see: {spell(fake(form))} there")), {}) != []


@pytest.mark.parametrize(
    "spell",
    [lambda key: f"{key[:12]}\n{key[12:]}", lambda key: key.encode().hex(" "), " ".join],
    ids=["over two lines", "hex in pairs", "letter by letter"],
)
def test_an_own_key_is_refused_however_it_is_broken(spell: Callable[[str], str]) -> None:
    key = env_key()
    leaks = scan(cassette(response=answer(f"see {spell(key)} there")), {"A_KEY": key})
    assert [leak.kind for leak in leaks] == ["value of A_KEY"]


NAMES = ["data", "signature", "encrypted_content", "page_token", "obfuscation"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["openai", "anthropic", "xai", "aws", "github", "huggingface"])
def test_a_key_is_one_under_the_name_of_a_seal(name: str, form: str) -> None:
    body = json.dumps({"content": [{"type": "thinking", name: fake(form)}]}).encode()
    assert scan(cassette(response=body), {}) != []


def test_a_key_in_the_middle_of_a_seal_is_one() -> None:
    body = json.dumps({"type": "thinking", "signature": letters(200) + fake("openai")}).encode()
    assert scan(cassette(response=body), {}) != []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "packed", [str, lambda text: base64.b64encode(text.encode()).decode()], ids=["plain", "base64"]
)
def test_arguments_of_a_call_hold_no_seals(name: str, packed: Callable[[str], str]) -> None:
    arguments = {name: packed(f"key {fake('npm')}")}
    chat = {"choices": [{"message": {"tool_calls": [{"function": {"arguments": json.dumps(arguments)}}]}}]}
    anthropic = {"content": [{"type": "tool_use", "name": "f", "input": arguments}]}
    for body in (chat, anthropic):
        assert scan(cassette(response=json.dumps(body).encode()), {}) != []
