# pip install instructor==1.17.0 openai==3.3.0
import instructor, json
from collections.abc import Iterable
from openai import OpenAI
from pydantic import ConfigDict, create_model
from threading import Thread
from wsgiref.simple_server import make_server
def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "application/json")])
    return [open("name-over-64-characters.openai.chat.plain.json", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
client = OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
client = instructor.from_openai(client, mode=instructor.Mode.PARALLEL_TOOLS)
read_sensor = create_model("read_sensor", __config__=ConfigDict(extra="allow"), __doc__="A tool.")
request = {"model": "m", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}
answer = client.create(response_model=Iterable[read_sensor], max_retries=0, **request)
print(json.dumps({"calls": [[type(call).__name__, call.model_dump()] for call in answer]}, default=str))
# expected: mcp__weather_station_on_the_roof__read_the_temperature_of_the_outdoor_sensor_…re_of_the_outdoor_sensor_2({})
