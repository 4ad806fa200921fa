# pip install ollama==0.6.3
import json
from ollama import Client
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "application/x-ndjson")])
    return [open("line-separators-in-texts.ollama.chat.stream.jsonl", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

client = Client(f"http://127.0.0.1:{server.server_port}")
answer = list(client.chat("m", [], stream=True))
calls = [call.function for part in answer for call in part.message.tool_calls or ()]

print(json.dumps({"calls": [[call.name, call.arguments] for call in calls]}, default=str))
# expected: save_note({"note":"one two three four","code":"0042"}), save_note({"note":"plain","code":"1e5"})
