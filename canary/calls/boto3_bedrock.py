"""Bedrock converse through boto3, at once and streamed."""

import os

import boto3

client = boto3.client(
    "bedrock-runtime",
    region_name="eu-west-1",
    endpoint_url=os.environ["WORLD"],
    aws_access_key_id="AKIAEXAMPLE",
    aws_secret_access_key="scripted",
)
asked = [{"role": "user", "content": [{"text": "hello"}]}]
print(client.converse(modelId="amazon.nova-x", messages=asked)["output"])
print(len(list(client.converse_stream(modelId="amazon.nova-x", messages=asked)["stream"])))
