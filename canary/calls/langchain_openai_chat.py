"""A chat model of LangChain."""

from langchain_openai import ChatOpenAI

print(ChatOpenAI(model="gpt-x").invoke("hello").content)
