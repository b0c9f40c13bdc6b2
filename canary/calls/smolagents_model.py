"""A model of smolagents."""

import os

from smolagents import ChatMessage, MessageRole, OpenAIServerModel

model = OpenAIServerModel("gpt-x", api_base=os.environ["OPENAI_BASE_URL"], api_key="scripted")
print(model.generate([ChatMessage(role=MessageRole.USER, content="hello")]).content)
