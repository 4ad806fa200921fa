"""Secrets in headers, addresses and bodies."""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

from tests.cassettes.secrets.cassettes import answer, cassette
from tests.cassettes.secrets.fakes import FORMS, fake, letters, uuid
from tests.cassettes.secrets.plant import Plant, answering, everything, leaf, parsed


def forms() -> list[Plant]:
    """Each form in a plain answer."""
    secrets = {form: fake(form, "plain") for form in FORMS}
    return [Plant(f"answer-{form}", key, answering(f"I found {key} there."), parsed) for form, key in secrets.items()]


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
        "bearer": f"curl -H 'Authorization: Bearer {plain}'",
        "assignment": f"export MY_API_KEY={plain}\n",
    }
    found = [Plant(f"line-{name}", plain, answering(text), parsed) for name, text in lines.items()]
    for glue in ("key_", "apikey", "API_KEY_", "token-"):
        found.append(Plant(f"glued-{glue}", key, answering(f"it is {glue}{key} there"), parsed))
    for name in ("token", "secret", "pwd", "password"):
        call = {"function": {"name": "log_in", "arguments": json.dumps({"user": "me", name: plain})}}
        found.append(Plant(f"argument-{name}", plain, cassette(response=json.dumps([call]).encode()), parsed))
    for name, text in (("api_key", plain), ("file", f"OPENAI_API_KEY={plain}")):
        form = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n--b--\r\n'
        found.append(Plant(f"multipart-{name}", plain, cassette(request=form.encode()), everything))
    return found


def headers() -> list[Plant]:
    key, plain = fake("openai", "header"), letters(24, seed="header")
    request = {
        "authorization": f"Bearer {key}",
        "x-api-key": fake("anthropic", "header"),
        "cookie": f"session={plain}",
        **dict.fromkeys(["x-goog-api-key", "openai-organization", "openai-project", "x-request-id"], plain),
    }
    response = {
        "set-cookie": f"__cf_bm={plain}; path=/",
        "openai-organization": plain,
        "request-id": fake("request", "header"),
        "cf-ray": plain,
        "anthropic-organization-id": uuid("header"),
        "location": f"https://host/files?sig={plain}",
    }
    found = [
        Plant(f"request-header-{name}", value.split()[-1], cassette(request_headers={name: value}), everything)
        for name, value in request.items()
    ]
    for name, value in response.items():
        secret = plain if plain in value else value
        found.append(Plant(f"response-header-{name}", secret, cassette(headers={name: [value]}), everything))
    return found


def addresses() -> list[Plant]:
    key, plain = fake("google", "url"), letters(24, seed="url")
    signed = f"https://bucket.s3.amazonaws.com/a.png?X-Amz-Credential={plain}&X-Amz-Signature={letters(64, seed='s')}"
    urls = {
        "query-key": (key, f"https://host/v1/models?alt=sse&key={key}"),
        "query-unknown-form": (plain, f"https://host/v1?api_key={plain}&x=1"),
        "query-signature": (plain, f"https://host/v1?X-Amz-Signature={plain}"),
        "user-info": (plain, f"https://me:{plain}@host/v1"),
        "percent-encoded": (key, "https://host/v1?q=" + "".join(f"%{ord(c):02X}" for c in key)),
        "fragment": (plain, f"https://host/v1#access_token={plain}"),
    }
    return [
        *(Plant(f"url-{name}", secret, cassette(url=url), everything) for name, (secret, url) in urls.items()),
        Plant("body-url-signed", plain, answering(f"![]({signed})"), parsed),
        Plant("body-url-user-info", plain, answering(f"postgres://app:{plain}@db.host/x"), parsed),
    ]


def bodies() -> list[Plant]:
    key, plain, address, private = fake("openai", "b"), letters(24, seed="b"), fake("e-mail", "b"), fake("private-key")
    organisation, request_id = fake("organisation", "error"), "0" + letters(30, seed="r")
    error = {"error": {"message": f"Incorrect API key provided: {key}.", "code": "invalid_api_key"}}
    shown = key[:8] + "*" * 20 + key[-4:]
    tool = {"type": "mcp", "server_url": "https://mcp.host", "authorization": plain}
    overloaded = {"type": "error", "error": {"type": "overloaded_error"}, "request_id": request_id}
    limit = f"Rate limit reached in organization {organisation} on tokens per min"
    requests = {
        "body": (key, {"input": f"use {key}"}),
        "tool-authorization": (plain, {"tools": [tool]}),
        "user-id": (uuid("u"), {"metadata": {"user_id": uuid("u")}}),
    }
    errors = {
        "key": (key, 401, json.dumps(error).encode()),
        "masked-key": (shown, 401, json.dumps(error).replace(key, shown).encode()),
        "organisation": (organisation, 429, answer(limit)),
        "team": (uuid("team"), 429, answer(f"Your team {uuid('team')} has used all its credits")),
        "request-id": (request_id, 529, json.dumps(overloaded).encode()),
    }
    escaped = json.dumps({"text": "@"}).replace("@", "".join(f"\\u{ord(c):04x}" for c in key))
    address_escaped = json.dumps({"text": f"Write to\n{address}\n"}).replace("@", "\\u0040")
    nested = json.dumps({"a": json.dumps({"b": json.dumps({"c": f"x\n{key}"})})})
    refused = cassette()
    refused["responses"][0]["status"]["message"] = f"No {key}"
    page = cassette(status=502, response=f"<h1>Bad</h1> {key}".encode())
    return [
        *(
            Plant(f"request-{name}", secret, cassette(request=json.dumps(body).encode()), parsed)
            for name, (secret, body) in requests.items()
        ),
        *(
            Plant(f"error-{name}", secret, cassette(status=status, response=body), parsed)
            for name, (secret, status, body) in errors.items()
        ),
        Plant("multi-line", private, answering(f"Here:\n{private}\n"), parsed),
        Plant("plain-text-body", key, page, everything),
        Plant("json-escaped", key, cassette(response=escaped.encode()), parsed),
        Plant("e-mail-escaped", address, cassette(response=address_escaped.encode()), parsed),
        Plant("json-in-json-in-json", key, cassette(response=nested.encode()), parsed),
        Plant("url-encoded-e-mail", address, leaf(f"https://host/?to={quote(address)}"), lambda c: unquote(parsed(c))),
        Plant("status-message", key, refused, everything),
        Plant("metadata", key, {**cassette(), "metadata": {"ran": {"by": key}}}, everything),
    ]
