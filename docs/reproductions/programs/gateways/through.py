"""Send a request (URL, headers, body) to a gateway whose upstream is http://127.0.0.1:8795/v1, and print both ends.

With a fourth argument, the upstream's stream breaks off after its text.
"""

import http.server
import json
import sys
import threading
import urllib.error
import urllib.request

CHOICE = '{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}'
TEXT = 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]}\n\ndata: [DONE]\n\n'


class Upstream(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("up:", self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        whole = TEXT % CHOICE
        self.wfile.write(
            (whole.partition("data: [DONE]")[0].replace('"stop"', "null") if sys.argv[4:] else whole).encode()
        )


threading.Thread(target=http.server.HTTPServer(("127.0.0.1", 8795), Upstream).serve_forever, daemon=True).start()
headers = {"content-type": "application/json", **json.loads(sys.argv[2])}
try:
    reply = urllib.request.urlopen(urllib.request.Request(sys.argv[1], sys.argv[3].encode(), headers))
    print("back:", reply.status, reply.read().decode())
except urllib.error.HTTPError as error:
    print("back:", error.code, error.read().decode()[:200])
