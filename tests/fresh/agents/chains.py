"""LangChain: a chat model of one's own, RunnableParallel, batch, abatch, retries and fallbacks, message ids (httpx)."""

import asyncio
import os
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel

WORLD = os.environ["WORLD_URL"]


class Model(BaseChatModel):
    path: str = "/v1/chat/completions"

    @property
    def _llm_type(self) -> str:
        return "world"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        body = {"model": "m", "messages": [{"role": "user", "content": str(m.content)} for m in messages]}
        reply = httpx.post(WORLD + self.path, json=body).raise_for_status().json()
        message = AIMessage(reply["choices"][0]["message"]["content"], id=reply["id"])
        return ChatResult(generations=[ChatGeneration(message=message)])


model = Model()
flaky = Model(path="/flaky/chat/completions").with_retry(
    retry_if_exception_type=(httpx.HTTPStatusError,), stop_after_attempt=2, wait_exponential_jitter=False
)
prompt = ChatPromptTemplate.from_messages([("system", "be brief"), ("user", "{question}")])
answer = prompt | flaky.with_fallbacks([model]) | StrOutputParser()
both = RunnableParallel(
    short=answer, long=prompt | model | StrOutputParser(), length=RunnableLambda(lambda q: len(q["question"]))
)
for result in both.batch([{"question": f"question {n}"} for n in range(5)], config={"max_concurrency": 3}):
    print(result)
print(asyncio.run((prompt | model).abatch([{"question": f"async {n}"} for n in range(4)])))
for result in answer.batch_as_completed([{"question": f"late {n}"} for n in range(4)]):
    print(result)
