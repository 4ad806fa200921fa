"""What the programs share, with the standard library only: a server of one response body, and the command line.

Each program takes BODY WIRE PROVIDER stream|plain [TOOLS|-] [STATUS] and prints one JSON object: the calls, the text,
the stop reason and the token counts as the library returns them, or its error.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false")
body, wire, provider, mode = sys.argv[1:5]
tools_file, status = [*sys.argv[5:], *("-", "200")[len(sys.argv) - 5 :]]
stream = mode == "stream"
tools: list = []
for tool in [] if tools_file == "-" else json.loads(Path(tools_file).read_bytes()):
    held = tool.get("function") or tool
    schema = held.get("parameters") or held.get("input_schema")
    if held.get("name") and isinstance(schema, dict):
        tools.append({"name": held["name"], "description": held.get("description") or "", "parameters": schema})
declared = [tool["name"] for tool in tools]
tools = tools or [{"name": "some_tool", "description": "A tool.", "parameters": {"type": "object", "properties": {}}}]
chat_tools = [{"type": "function", "function": tool} for tool in tools]
response_tools = [{"type": "function", **tool} for tool in tools]


class Handler(BaseHTTPRequestHandler):
    """Sends the body to every request."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        data = Path(body).read_bytes()
        self.send_response(int(status))
        self.send_header("content-type", "text/event-stream" if stream and int(status) < 400 else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
url = f"http://127.0.0.1:{server.server_address[1]}"
threading.Thread(target=server.serve_forever, daemon=True).start()


def show(ask):
    """Print the result of ``ask()``, or its error."""
    try:
        result = ask()
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result, default=str))
