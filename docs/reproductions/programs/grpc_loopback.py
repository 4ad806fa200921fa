"""A gRPC server of one response, with the messages of xAI's own SDK: one JSON object per line in the body file."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from google.protobuf.json_format import Parse
from loopback import body, status
from xai_sdk.proto import chat_pb2

lines = [line for line in Path(body).read_text("utf-8").splitlines() if line.strip()]
failed = json.loads(lines.pop()) if int(status) >= 400 else None


def messages(kind):
    """Parse the lines."""
    return [Parse(line, kind()).SerializeToString() for line in lines]


def abort(context):
    if failed:
        context.abort(getattr(grpc.StatusCode, failed["code"], grpc.StatusCode.UNKNOWN), str(failed.get("details")))


def plain(request, context):
    abort(context)
    return messages(chat_pb2.GetChatCompletionResponse)[0]


def streamed(request, context):
    yield from messages(chat_pb2.GetChatCompletionChunk)
    abort(context)


methods = {
    "GetCompletion": grpc.unary_unary_rpc_method_handler(plain),
    "GetCompletionChunk": grpc.unary_stream_rpc_method_handler(streamed),
}
server = grpc.server(ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("xai_api.Chat", methods),))
address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
server.start()
