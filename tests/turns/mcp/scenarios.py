"""The client scenarios of MCP's conformance suite, and which of them fail."""

from __future__ import annotations

#: Scenario of version 0.1.16 -> the number of its checks.
SCENARIOS = {
    "initialize": 1,
    "tools_call": 1,
    "elicitation-sep1034-client-defaults": 5,
    "sse-retry": 3,
    "auth/metadata-default": 14,
    "auth/metadata-var1": 14,
    "auth/metadata-var2": 14,
    "auth/metadata-var3": 14,
    "auth/basic-cimd": 14,
    "auth/scope-from-www-authenticate": 15,
    "auth/scope-from-scopes-supported": 15,
    "auth/scope-omitted-when-undefined": 15,
    "auth/scope-step-up": 21,
    "auth/scope-retry-limit": 16,
    "auth/token-endpoint-auth-basic": 19,
    "auth/token-endpoint-auth-post": 19,
    "auth/token-endpoint-auth-none": 19,
    "auth/pre-registration": 14,
    "auth/2025-03-26-oauth-endpoint-fallback": 8,
    "auth/resource-mismatch": 2,
    "auth/offline-access-scope": 14,
    "auth/offline-access-not-supported": 15,
    "auth/client-credentials-jwt": 9,
    "auth/client-credentials-basic": 9,
}
#: Scenarios that fail, with the reason. Both concern the OAuth flows of the SDK.
FAILING = {
    "auth/2025-03-26-oauth-metadata-backcompat": "the SDK refuses metadata whose issuer is not the server (RFC 8414)",
    "auth/cross-app-access-complete-flow": "the SDK leaves the token exchange with the identity provider to the caller",
}
