"""Lists the tools of the service at API_URL and calls one, as the packages of those who make models do. Prints a line of JSON for each
package: its name, the arguments of each tool as its model is shown them, and the result."""

import asyncio
import json
import os
import sys

from agents.mcp import MCPServerStreamableHttp, MCPUtil
from anthropic.lib.tools.mcp import async_mcp_tool
from google.genai._adapters import McpToGenAiToolAdapter
from google.genai.types import FunctionCall
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

URL = f"{os.environ['API_URL']}/mcp"
HEADERS = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
NAME, GIVEN = sys.argv[1], json.loads(sys.argv[2])


def show(package, shown, result):
    print(json.dumps({"package": package, "tools": shown, "result": json.loads(result)}))


async def convert():
    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()

        tools = {tool.name: async_mcp_tool(tool, session) for tool in listed.tools}
        [content] = await tools[NAME].call(GIVEN)
        shown = {name: list(tool.to_dict()["input_schema"]["properties"]) for name, tool in tools.items()}
        show("anthropic", shown, content["text"])

        adapter = McpToGenAiToolAdapter(session, listed)
        functions = [function for tool in adapter.tools for function in tool.function_declarations]
        result = await adapter.call_tool(FunctionCall(name=NAME, args=GIVEN))
        shown = {each.name: list(each.parameters.properties or {}) for each in functions}
        show("google-genai", shown, result.content[0].text)

        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        [content] = await tools[NAME].ainvoke(GIVEN)
        show("langchain-mcp-adapters", {name: list(tool.args) for name, tool in tools.items()}, content["text"])

    async with MCPServerStreamableHttp({"url": URL, "headers": HEADERS}) as server:
        tools = [MCPUtil.to_function_tool(tool, server, False) for tool in await server.list_tools()]
        result = await server.call_tool(NAME, GIVEN)
        shown = {tool.name: list(tool.params_json_schema["properties"]) for tool in tools}
        show("openai-agents", shown, result.content[0].text)


asyncio.run(convert())
