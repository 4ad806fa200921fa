"""Secrets that are nobody's, put together at run time: no file here holds anything that looks like a key."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def letters(length: int, alphabet: str = ALNUM, seed: object = 0) -> str:
    """Random letters, the same each time, with at least a digit and a letter among them."""
    chance = random.Random(f"{length} {alphabet} {seed}")
    return "".join(chance.choice(alphabet) for _ in range(length - 2)) + "7b"[: 2 if alphabet != string.digits else 0]


def jwt(seed: object = 0) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, claims = part({"alg": "HS256", "typ": "JWT"}), part({"sub": letters(8, seed=seed), "iat": 1_700_000_000})
    return f"{head}.{claims}.{letters(43, seed=seed)}"


def private_key(seed: object = 0) -> str:
    dashes = "-" * 5
    lines = [letters(64, seed=(seed, n)) for n in range(4)]
    return "\n".join([f"{dashes}BEGIN RSA PRIVATE KEY{dashes}", *lines, f"{dashes}END RSA PRIVATE KEY{dashes}"])


#: Forms that are reported by their own letters -> what makes one, of a seed.
FORMS: dict[str, Callable[[object], str]] = {
    "openai": lambda seed: "sk-" + "proj-" + letters(48, seed=seed),
    "openai-old": lambda seed: "sk-" + letters(48, seed=seed),
    "anthropic": lambda seed: "sk-" + "ant-api03-" + letters(86, seed=seed) + "-" + letters(6, seed=seed),
    "openrouter": lambda seed: "sk-" + "or-v1-" + letters(64, HEX, seed),
    "xai": lambda seed: "xai" + "-" + letters(80, seed=seed),
    "google": lambda seed: "AI" + "za" + letters(35, seed=seed),
    "aws": lambda seed: "AK" + "IA" + letters(16, string.ascii_uppercase + string.digits, seed).upper(),
    "groq": lambda seed: "gsk" + "_" + letters(52, seed=seed),
    "huggingface": lambda seed: "hf" + "_" + letters(34, seed=seed),
    "replicate": lambda seed: "r8" + "_" + letters(37, seed=seed),
    "perplexity": lambda seed: "pplx" + "-" + letters(48, seed=seed),
    "github": lambda seed: "gh" + "p_" + letters(36, seed=seed),
    "github-fine": lambda seed: "github" + "_pat_" + letters(22, seed=seed) + "_" + letters(59, seed=seed),
    "gitlab": lambda seed: "glpat" + "-" + letters(20, seed=seed),
    "slack": lambda seed: "xox" + "b-" + letters(12, string.digits, seed) + "123456789012-" + letters(24, seed=seed),
    "stripe": lambda seed: "sk" + "_live_" + letters(24, seed=seed),
    "sendgrid": lambda seed: "SG" + "." + letters(22, seed=seed) + "." + letters(43, seed=seed),
    "npm": lambda seed: "npm" + "_" + letters(36, seed=seed),
    "digitalocean": lambda seed: "dop" + "_v1_" + letters(64, HEX, seed),
    "shopify": lambda seed: "shp" + "at_" + letters(32, HEX, seed),
    "twilio": lambda seed: "S" + "K" + letters(32, HEX, seed),
    "google-client": lambda seed: "GOC" + "SPX-" + letters(28, seed=seed),
    "e2b": lambda seed: "e2b" + "_" + letters(40, HEX, seed),
    "pinecone": lambda seed: "pcsk" + "_" + letters(60, seed=seed),
    "atlassian": lambda seed: "ATA" + "TT3xFfGF0" + letters(180, seed=seed),
    "linear": lambda seed: "lin" + "_api_" + letters(40, seed=seed),
    "notion": lambda seed: "ntn" + "_" + letters(46, seed=seed),
    "notion-old": lambda seed: "secret" + "_" + letters(43, seed=seed),
    "voyage": lambda seed: "pa" + "-" + letters(43, seed=seed),
    "telegram": lambda seed: "123456" + "789:AA" + letters(33, seed=seed),
    "discord": lambda seed: "M" + letters(25, seed=seed) + "." + letters(6, seed=seed) + "." + letters(38, seed=seed),
    "age": lambda seed: "AGE-SECRET" + "-KEY-1" + letters(58, seed=seed).upper(),
    "jwt": jwt,
    "private-key": private_key,
    "organisation": lambda seed: "org" + "-" + letters(24, seed=seed),
    "project": lambda seed: "proj" + "_" + letters(24, seed=seed),
    "request": lambda seed: "req" + "_" + letters(24, seed=seed),
    "user": lambda seed: "user" + "-" + letters(24, seed=seed),
    "e-mail": lambda seed: letters(6, string.ascii_lowercase, seed) + "@" + letters(7, seed=seed).lower() + ".io",
}


def fake(form: str, seed: object = 0) -> str:
    """One secret of a form."""
    return FORMS[form](seed)


def env_key(seed: object = 0) -> str:
    """A key without any form: only who knows it can find it."""
    return letters(30, seed=("env", seed))


def uuid(seed: object = 0) -> str:
    return "-".join(letters(n, HEX, (seed, at)) for at, n in enumerate((8, 4, 4, 4, 12)))
