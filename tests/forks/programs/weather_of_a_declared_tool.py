"""An agent whose model is told of two tools, uses one, and also has one that it is not told of."""

import os

import openai

import reenact

client = openai.OpenAI(base_url=os.environ["WORLD"] + "/v1", api_key="k", max_retries=0)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [dict(type="function", name=name, parameters=SCHEMA, strict=False) for name in ("weather", "send_mail")]


@reenact.tool(effect="read")
def weather(city):
    return "foggy"


@reenact.tool
def cancel_order(order):
    return "done"


asked = [dict(role="user", content="weather?")]
said = client.responses.create(model="gpt-x", input=asked, tools=TOOLS)
use = said.output[0]
asked += [use, dict(type="function_call_output", call_id=use.call_id, output=weather("Oslo"))]
print(client.responses.create(model="gpt-x", input=asked, tools=TOOLS).output_text)
