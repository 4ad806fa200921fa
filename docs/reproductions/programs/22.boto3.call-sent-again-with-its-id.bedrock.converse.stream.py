import boto3, json
from threading import Thread
from wsgiref.simple_server import make_server
def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "application/vnd.amazon.eventstream")])
    return [open("call-sent-again-with-its-id.bedrock.converse.stream.bin", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
keys = {"region_name": "us-east-1", "aws_access_key_id": "none", "aws_secret_access_key": "none"}
client = boto3.client("bedrock-runtime", endpoint_url=f"http://127.0.0.1:{server.server_port}", **keys)
calls, text, ended = {}, "", {}
for event in client.converse_stream(modelId="m", messages=[])["stream"]:
    ((kind, value),) = event.items()
    index, start, delta = (value.get(name, {}) for name in ("contentBlockIndex", "start", "delta"))
    if "toolUse" in start: calls[index] = [start["toolUse"]["name"], ""]
    if "toolUse" in delta: calls[index][1] += delta["toolUse"]["input"]
    text += delta.get("text", "")
    if kind in ("messageStop", "metadata"): ended.update(value)
print(json.dumps({"calls": list(calls.values())}, default=str))
