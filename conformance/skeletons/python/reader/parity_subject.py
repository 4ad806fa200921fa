"""{{name}} as a subject of the suite: it gets the bytes of a response."""

import openai_chat


class Subject:
    name = "{{name}}"
    version = "0.1"
    wires = ["openai.chat"]
    claims = ["stream"]

    def read(self, exchange):
        """Return the calls of one response. Replace `openai_chat.read` by your library."""
        if exchange.status >= 400:
            return {"error": f"HTTP status {exchange.status}"}
        return openai_chat.read(exchange.body, exchange.stream)
