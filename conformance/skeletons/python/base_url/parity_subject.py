"""{{name}} as a subject of the suite: it gets an address, and fetches the response with its own client."""

import json
import urllib.error
import urllib.request

import openai_chat


class Subject:
    name = "{{name}}"
    version = "0.1"
    input = "base_url"
    wires = ["openai.chat"]
    claims = ["stream"]

    def read(self, exchange):
        """Return the calls of one response. Replace `fetch` and `openai_chat.read` by your client."""
        try:
            body = fetch(
                exchange.base_url + "/chat/completions", {**(exchange.request or {}), "stream": exchange.stream}
            )
        except urllib.error.HTTPError as error:
            return {"error": f"HTTP status {error.code}"}
        return openai_chat.read(body, exchange.stream)


def fetch(url, request):
    """Send the request once, and return the body of the response."""
    body = json.dumps(request).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as response:
        return response.read()
