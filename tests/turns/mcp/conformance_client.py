"""The client that MCP's conformance suite runs for each scenario: it connects and calls every tool once.

    MCP_CONFORMANCE_SCENARIO=tools_call python conformance_client.py http://localhost:3000/mcp

The suite passes credentials in MCP_CONFORMANCE_CONTEXT. The flows of OAuth are those of the SDK (``auth=``).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any
from urllib.parse import parse_qs, urlparse

import httpx2
import mcp_types
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from toolparity import ToolCall
from toolparity.normalizer import json_codec
from toolparity.turns.execution.executor import Executor
from toolparity.turns.execution.tools import Tools
from toolparity.turns.mcp.server import McpServer

#: The address to which the suite redirects; it is only read from the redirection.
REDIRECT = AnyUrl("http://localhost:3000/callback")
#: A value for each type of a property.
VALUES = {"number": 5, "integer": 5, "string": "a", "boolean": True, "array": [], "object": {}}


class Storage:
    """Tokens in memory."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.tokens: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Browser:
    """Follows the redirection of an authorization without a user."""

    async def visit(self, url: str) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(url)
        self.query = parse_qs(urlparse(response.headers["location"]).query)

    async def result(self) -> AuthorizationCodeResult:
        values = {name: value for name in ("code", "state", "iss") for value in self.query.get(name, ())}
        return AuthorizationCodeResult(**values)


def auth_of(scenario: str, url: str, context: dict[str, Any]) -> Any:
    """The authorization that a scenario needs."""
    id: Any = context.get("client_id")
    secret: Any = context.get("client_secret")
    common: dict[str, Any] = {"server_url": url, "storage": Storage()}
    if scenario == "auth/client-credentials-jwt":
        algorithm, key = context.get("signing_algorithm", "ES256"), context["private_key_pem"]
        signed = SignedJWTParameters(issuer=id, subject=id, signing_algorithm=algorithm, signing_key=key)
        return PrivateKeyJWTOAuthProvider(**common, client_id=id, assertion_provider=signed.create_assertion_provider())
    if scenario == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(**common, client_id=id, client_secret=secret)
    options: dict[str, Any] = {"redirect_uris": [REDIRECT]}
    if id is not None:
        method = "client_secret_basic" if secret else "none"
        known = OAuthClientInformationFull(
            client_id=id, client_secret=secret, token_endpoint_auth_method=method, **options
        )
        common["storage"] = Storage(known)
    grants: Any = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}
    return OAuthClientProvider(
        **common,
        client_metadata=OAuthClientMetadata(client_name="toolparity", **options, **grants),
        redirect_handler=(browser := Browser()).visit,
        callback_handler=browser.result,
        client_metadata_url="https://conformance-test.local/client-metadata.json",
    )


async def accept_defaults(_: Any, params: Any) -> mcp_types.ElicitResult:
    """Accept an elicitation with the defaults of its schema."""
    properties = params.requested_schema["properties"]
    return mcp_types.ElicitResult(
        action="accept", content={name: schema["default"] for name, schema in properties.items() if "default" in schema}
    )


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    options: dict[str, Any] = {"elicitation_callback": accept_defaults} if "elicitation" in scenario else {}
    if scenario.startswith("auth/"):
        options["auth"] = auth_of(scenario, url, context)
    async with McpServer(url, **options) as server:
        tools = Tools([server])
        for name, tool in tools.items():
            properties = (tool.parameters or {}).get("properties", {})
            arguments = {key: VALUES[schema["type"]] for key, schema in properties.items()}
            call = ToolCall("1", name, arguments, json_codec.text(arguments))
            print(name, (await Executor(tools).run([call]))[0].result)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
