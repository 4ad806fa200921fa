"""Send a request to a gateway whose upstream is http://127.0.0.1:8795, and print what went up and what came back.

    python through.py URL HEADERS BODY REPLY [STATUS]

HEADERS and BODY are JSON. The upstream answers every request with REPLY: a JSON body, or the events of a stream. It
sends an error STATUS with "retry-after: 3".
"""

import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.request

url, headers, body, reply, *status = sys.argv[1:]


class Upstream(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("up:", self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(int(*status or [200]))
        self.send_header("content-type", "application/json" if reply.startswith("{") else "text/event-stream")
        if status:
            self.send_header("retry-after", "3")
        self.end_headers()
        self.wfile.write(os.fsencode(reply))


threading.Thread(target=http.server.HTTPServer(("127.0.0.1", 8795), Upstream).serve_forever, daemon=True).start()
sent = urllib.request.Request(url, body.encode(), {"content-type": "application/json", **json.loads(headers)})
try:
    answered = urllib.request.urlopen(sent)
    print("back:", answered.status, answered.read().decode())
except urllib.error.HTTPError as error:
    print("back:", error.code, error.read().decode())
    print("retry-after:", error.headers["retry-after"], "llm_provider:", error.headers["llm_provider-retry-after"])
