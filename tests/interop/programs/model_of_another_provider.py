"""A model that is asked by the SDK of another provider, or for a stream, as its argument says."""

import sys

import anthropic
import openai

said = [{"role": "user", "content": "Where is order 7?"}]
if sys.argv[1] == "anthropic":
    claude = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:9", max_retries=0)
    made = claude.messages.create(model="gpt-4o-mini", max_tokens=9, system="Be brief.", messages=said)
    print(made.content[0].text)
else:
    client = openai.OpenAI(max_retries=0)
    said = [{"role": "system", "content": "Be brief."}, *said]
    more = {"temperature": 0.5, "stream": sys.argv[1] == "stream"}
    made = client.chat.completions.create(model="gpt-4o-mini", messages=said, **more)
    if more["stream"]:
        print("".join(part.choices[0].delta.content or "" for part in made if part.choices))
    else:
        print(made.choices[0].message.content)
