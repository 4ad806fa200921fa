# pip install google-genai==3.6.1
import json
from google.genai import Client
from google.genai.types import HttpOptions
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("empty-data.google.gemini.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

client = Client(api_key="none", http_options=HttpOptions(base_url=f"http://127.0.0.1:{server.server_port}"))
answers = list(client.models.generate_content_stream(model="m", contents=""))
print(json.dumps({
    "calls": [[call.name, call.args] for answer in answers for call in answer.function_calls or ()],
}, default=str))
# expected: switch_light({"room":"study","on":true})
