"""Secrets in headers, addresses and bodies."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote

from tests.cassettes.secrets.cassettes import answer, cassette
from tests.cassettes.secrets.fakes import FORMS, fake, letters, uuid
from tests.cassettes.secrets.plant import Plant, everything, leaf, parsed


def forms() -> list[Plant]:
    """Each form in a plain answer."""
    found = []
    for form in FORMS:
        secret = fake(form, "plain")
        found.append(Plant(f"answer-{form}", secret, cassette(response=answer(f"I found {secret} there.")), parsed))
    return found


def in_sentences() -> list[Plant]:
    """Without a form, reported by the words before them; and forms with words written directly before them."""
    plain, key = letters(32, "0123456789abcdef", "line"), fake("openai", "glue")
    lines = {
        "api-key": f"send api-key: {plain} with it",
        "subscription-key": f"Ocp-Apim-Subscription-Key: {plain}",
        "password": f"user: me\npassword: {plain}\n",
        "aws": f"aws_secret_access_key = {plain}",
        "cookie": f"Cookie: session={plain}; theme=dark",
        "curl": f"curl -s -u admin:{plain} https://host/",
        "fragment": f"back at https://host/cb#access_token={plain}&x=1",
    }
    found = [Plant(f"line-{name}", plain, cassette(response=answer(text)), parsed) for name, text in lines.items()]
    for glue in ("key_", "apikey", "API_KEY_", "token-"):
        found.append(Plant(f"glued-{glue}", key, cassette(response=answer(f"it is {glue}{key} there")), parsed))
    for name in ("token", "secret", "pwd"):
        call = {"function": {"name": "log_in", "arguments": json.dumps({"user": "me", name: plain})}}
        found.append(Plant(f"argument-{name}", plain, cassette(response=json.dumps([call]).encode()), parsed))
    form = f'--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\n{plain}\r\n--b--\r\n'
    found.append(Plant("multipart-named", plain, cassette(request=form.encode()), everything))
    found.append(Plant("url-fragment", plain, cassette(url=f"https://host/v1#access_token={plain}"), everything))
    return found


def headers() -> list[Plant]:
    key, plain = fake("openai", "header"), letters(24, seed="header")
    request = {
        "authorization": f"Bearer {key}",
        "x-api-key": fake("anthropic", "header"),
        "x-goog-api-key": plain,
        "cookie": f"session={plain}",
        "openai-organization": plain,
        "openai-project": plain,
        "x-request-id": plain,
    }
    found = [
        Plant(f"request-header-{name}", value.split()[-1], cassette(request_headers={name: value}), everything)
        for name, value in request.items()
    ]
    response = {
        "set-cookie": f"__cf_bm={plain}; path=/",
        "openai-organization": plain,
        "request-id": fake("request", "header"),
        "cf-ray": plain,
        "anthropic-organization-id": uuid("header"),
        "location": f"https://host/files?sig={plain}",
    }
    found += [
        Plant(
            f"response-header-{name}", plain if plain in value else value, cassette(headers={name: [value]}), everything
        )
        for name, value in response.items()
    ]
    return found


def addresses() -> list[Plant]:
    key, plain = fake("google", "url"), letters(24, seed="url")
    signed = f"https://bucket.s3.amazonaws.com/a.png?X-Amz-Credential={plain}&X-Amz-Signature={letters(64, seed='s')}"
    return [
        Plant("url-query-key", key, cassette(url=f"https://host/v1/models?alt=sse&key={key}"), everything),
        Plant("url-query-unknown-form", plain, cassette(url=f"https://host/v1?api_key={plain}&x=1"), everything),
        Plant("url-query-signature", plain, cassette(url=f"https://host/v1?X-Amz-Signature={plain}"), everything),
        Plant("url-user-info", plain, cassette(url=f"https://me:{plain}@host/v1"), everything),
        Plant(
            "url-percent-encoded",
            key,
            cassette(url="https://host/v1?q=" + "".join(f"%{ord(c):02X}" for c in key)),
            everything,
        ),
        Plant("body-url-signed", plain, cassette(response=answer(f"![]({signed})")), parsed),
        Plant("body-url-user-info", plain, cassette(response=answer(f"postgres://app:{plain}@db.host/x")), parsed),
    ]


def bodies() -> list[Plant]:
    key, plain, address = fake("openai", "body"), letters(24, seed="body"), fake("e-mail", "body")
    error = {"error": {"message": f"Incorrect API key provided: {key}.", "code": "invalid_api_key"}}
    shown = key[:8] + "*" * 20 + key[-4:]
    tool = {"type": "mcp", "server_url": "https://mcp.host", "authorization": plain}
    call = {"function": {"name": "log_in", "arguments": json.dumps({"user": "me", "password": plain})}}
    team = f"Your team {uuid('team')} has used all its credits"
    request_id = {"type": "error", "error": {"type": "overloaded_error"}, "request_id": "0" + letters(30, seed="r")}
    limit = f"Rate limit reached in organization {fake('organisation', 'error')} on tokens per min"
    escaped = json.dumps({"text": "@"}).replace("@", "".join(f"\\u{ord(c):04x}" for c in key))
    address_escaped = json.dumps({"text": f"Write to\n{address}\n"}).replace("@", "\\u0040")
    nested = json.dumps({"a": json.dumps({"b": json.dumps({"c": f"x\n{key}"})})})
    form = f"--b\r\nContent-Disposition: form-data; name=file\r\n\r\nOPENAI_API_KEY={plain}\r\n--b--\r\n"
    return [
        Plant("request-body", key, cassette(request=json.dumps({"input": f"use {key}"}).encode()), parsed),
        Plant("request-tool-authorization", plain, cassette(request=json.dumps({"tools": [tool]}).encode()), parsed),
        Plant(
            "request-user-id",
            uuid("u"),
            cassette(request=json.dumps({"metadata": {"user_id": uuid("u")}}).encode()),
            parsed,
        ),
        Plant("request-multipart", plain, cassette(request=form.encode()), everything),
        Plant("bearer-in-text", plain, cassette(response=answer(f"curl -H 'Authorization: Bearer {plain}'")), parsed),
        Plant("assignment-in-text", plain, cassette(response=answer(f"export MY_API_KEY={plain}\n")), parsed),
        Plant("named-in-arguments", plain, cassette(response=json.dumps({"choices": [call]}).encode()), parsed),
        Plant(
            "multi-line",
            fake("private-key", "b"),
            cassette(response=answer(f"Here:\n{fake('private-key', 'b')}\n")),
            parsed,
        ),
        Plant("error-key", key, cassette(status=401, response=json.dumps(error).encode()), parsed),
        Plant(
            "error-masked-key",
            shown,
            cassette(status=401, response=json.dumps(error).replace(key, shown).encode()),
            parsed,
        ),
        Plant(
            "error-organisation", fake("organisation", "error"), cassette(status=429, response=answer(limit)), parsed
        ),
        Plant("error-team", uuid("team"), cassette(status=429, response=answer(team)), parsed),
        Plant(
            "error-request-id",
            request_id["request_id"],
            cassette(status=529, response=json.dumps(request_id).encode()),
            parsed,
        ),
        Plant("plain-text-body", key, cassette(status=502, response=f"<h1>Bad</h1> {key}".encode()), everything),
        Plant("json-escaped", key, cassette(response=escaped.encode()), parsed),
        Plant("e-mail-escaped", address, cassette(response=address_escaped.encode()), parsed),
        Plant("json-in-json-in-json", key, cassette(response=nested.encode()), parsed),
        Plant("url-encoded-e-mail", address, leaf(f"https://host/?to={quote(address)}"), lambda c: unquote(parsed(c))),
        Plant("status-message", key, cassette_with_status(key), everything),
        Plant("metadata", key, {**cassette(), "metadata": {"ran": {"by": key}}}, everything),
    ]


def cassette_with_status(text: str) -> dict[str, Any]:
    made = cassette()
    made["responses"][0]["status"]["message"] = f"No {text}"
    return made
