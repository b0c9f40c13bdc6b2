"""A refund that fails twice, tools with results of every type, a retriever and a judge."""

import json
import sys

import openai

import reenact

BANK = iter([False, False, True])


@reenact.tool
def refund(order):
    if not next(BANK):
        raise ConnectionError("the bank does not answer")
    return f"order {order} is paid back"


@reenact.tool
def given(sort):
    return {"none": None, "number": 3, "part": 0.5, "yes": True, "empty": "", "list": [], "text": "sp\u00e4ter"}[sort]


@reenact.tool(effect="none")
def double(number):
    return 2 * number


@reenact.model(name="judge")
def judge(messages):
    return "polite"


@reenact.retriever(embedding_model="e5")
def find(query):
    return [{"id": "d1", "score": 0.5, "content": "refunds take 3 days"}]


def settle(order):
    while True:
        try:
            return refund(order)
        except ConnectionError:
            continue


def answer(question):
    client = openai.OpenAI(api_key="none", max_retries=1)
    found = find(question)[0]["content"]
    said = [{"role": "system", "content": found}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model="gpt-test", messages=said).choices[0].message
        if not message.tool_calls:
            break
        said.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = settle(**json.loads(call.function.arguments))
            said.append({"role": "tool", "tool_call_id": call.id, "content": result})
    sorts = "none", "number", "part", "yes", "empty", "list", "text"
    return message.content, judge([{"role": "user", "content": "polite?"}]), double(4), [given(each) for each in sorts]


print(answer(sys.argv[1]))
