// A client of one prompt, written with the TypeScript SDK as it was at Zed. It allows every permission and prints.
//
// Arguments: the prompt, and the agent's command. The variable SDK says where the installed SDK is.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { ClientSideConnection, PROTOCOL_VERSION, ndJsonStream } = await import(pathToFileURL(process.env.SDK));
const [prompt, command, ...words] = process.argv.slice(2);
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });

const client = {
  async sessionUpdate({ update }) {
    if (update.sessionUpdate === "agent_message_chunk") process.stdout.write(update.content.text ?? "");
  },
  async requestPermission({ options }) {
    const chosen = options.find((option) => option.kind === "allow_once") ?? options[0];
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  },
};

const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const connection = new ClientSideConnection(() => client, stream);
await connection.initialize({ protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
const { sessionId } = await connection.newSession({ cwd: process.cwd(), mcpServers: [] });
await connection.prompt({ sessionId, prompt: [{ type: "text", text: prompt }] });
agent.stdin.end();
await new Promise((done) => agent.on("exit", done));
