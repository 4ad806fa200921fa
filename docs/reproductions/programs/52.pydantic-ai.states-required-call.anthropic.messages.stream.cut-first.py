# pip install pydantic-ai-slim[anthropic]==2.68.0
import json, os
from pydantic_ai.direct import messages, model_request_stream_sync
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("states-required-call.anthropic.messages.stream.cut-first.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

os.environ |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
with model_request_stream_sync("anthropic:m", [messages.ModelRequest.user_text_prompt("Hello")]) as stream:
    events, answer = list(stream), stream.response

print(json.dumps({"stop": [answer.finish_reason, answer.provider_details], "complete": answer.state}, default=str))
# expected: an error, or values that show that the stream broke
