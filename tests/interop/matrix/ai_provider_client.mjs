// A client of one prompt: the AI SDK with its provider for agents that speak ACP, which allows what it is asked.
//
// Arguments: the prompt, and the agent's command. The variable MODULES says where the packages are.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { resolve } = createRequire(`${process.env.MODULES}/`);
const { createACPProvider } = await import(pathToFileURL(resolve("@mcpc-tech/acp-ai-provider")));
const { streamText } = await import(pathToFileURL(resolve("ai")));
const [prompt, command, ...args] = process.argv.slice(2);

const provider = createACPProvider({ command, args, session: { cwd: process.cwd(), mcpServers: [] } });
const { textStream } = streamText({ model: provider.languageModel(), prompt });
for await (const piece of textStream) process.stdout.write(piece);
provider.cleanup();
