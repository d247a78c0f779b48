// A client of the official TypeScript SDK that has a folder reviewed and mended, and loads the session again.
//
// Arguments: the folder and the agent's command. It prints what it has seen as one JSON object.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [cwd, command, ...args] = process.argv.slice(2);
const asked = [];
const written = {};
let seen = [];

const app = client({ name: "reviewer" })
  .onNotification(methods.client.session.update, ({ params }) => void seen.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push([params.toolCall.kind, ...(params.toolCall.content ?? []).map((block) => block.type)]);
    const chosen = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf-8") }))
  .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
    written[params.path] = params.content;
    return {};
  });

async function told() {
  await new Promise((done) => setImmediate(done));
  const updates = seen;
  seen = [];
  const tools = {};
  for (const update of updates) {
    if (update.toolCallId) tools[update.toolCallId] = update.status ?? tools[update.toolCallId];
  }
  const of = (kind) => updates.filter((update) => update.sessionUpdate === kind);
  return {
    kinds: [...new Set(updates.map((update) => update.sessionUpdate))].sort(),
    tools: [...new Set(Object.values(tools))].sort(),
    text: of("agent_message_chunk").map((chunk) => chunk.content.text).join(""),
    user: of("user_message_chunk").map((chunk) => chunk.content.text),
    plan: of("plan").at(-1)?.entries.map((entry) => entry.status) ?? null,
  };
}

async function connected(work) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await app.connectWith(stream, async (agent) => {
    await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    });
    await work(agent);
  });
  const ended = new Promise((done) => child.on("exit", done));
  child.stdin.end();
  await ended;
}

const report = {};
let sessionId;
await connected(async (agent) => {
  const made = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  sessionId = made.sessionId;
  report.modes = made.modes.availableModes.map((mode) => mode.id);
  report.options = made.configOptions.map((option) => option.id);
  for (const [name, text] of [["review", "review src/app.py"], ["fix", "apply the fixes"], ["odd", "sing!"]]) {
    const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    report[name] = { stop: answer.stopReason, ...(await told()) };
  }
});
await connected(async (agent) => {
  await agent.request(methods.agent.session.load, { cwd, mcpServers: [], sessionId });
  report.loaded = await told();
  report.lost = await agent
    .request(methods.agent.session.load, { cwd, mcpServers: [], sessionId: "lost" })
    .then(() => 0, (error) => error.code);
});
console.log(JSON.stringify({ ...report, asked, written }));
