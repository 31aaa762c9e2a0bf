"""A client that uses an MCP server with fastmcp: without a token, through netproxy.

    client.py URL [--oauth]

Lists the tools and calls both; prints one JSON object. With --oauth the client would sign in itself if a
response named the server.
"""

import asyncio
import json
import sys

from fastmcp import Client


async def main():
    auth = "oauth" if "--oauth" in sys.argv[2:] else None
    async with Client(sys.argv[1], auth=auth) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        total = await client.call_tool("add", {"a": 40, "b": 2})
        text = await client.call_tool("greet", {"name": "netproxy"})
        print(json.dumps({"tools": tools, "sum": total.data, "text": text.data}))


try:
    asyncio.run(asyncio.wait_for(main(), 30))
except Exception as error:  # pylint: disable=broad-except
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
    sys.exit(1)
