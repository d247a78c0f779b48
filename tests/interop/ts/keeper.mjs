// A client of the official TypeScript SDK that keeps a session: it talks, hangs up, and loads it in a new process.
//
// Arguments: the agent's command. It prints what it has seen as one JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [command, ...args] = process.argv.slice(2);
const { session } = methods.agent;
const setup = { cwd: "/tmp", mcpServers: [] };
let seen = [];

const app = client({ name: "keeper" }).onNotification(methods.client.session.update, ({ params }) => {
  seen.push(params.update);
});

// The SDK answers as soon as the response is there; one turn of the loop lets the handlers before it run.
const settled = () => new Promise((done) => setImmediate(done));

function told() {
  const kept = seen.filter((update) => update.sessionUpdate !== "available_commands_update");
  seen = [];
  return kept.map((update) => [update.sessionUpdate, update.content?.text ?? update.title ?? ""]);
}

async function connected(work) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  try {
    return await app.connectWith(stream, async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
      return await work(agent);
    });
  } finally {
    child.stdin.end();
    await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done()));
  }
}

const report = {};
const sessionId = await connected(async (agent) => {
  const made = await agent.request(session.new, setup);
  report.modes = made.modes.availableModes.map((mode) => mode.id);
  report.options = made.configOptions.map((option) => option.id);
  await agent.request(session.setMode, { sessionId: made.sessionId, modeId: "careful" });
  await agent.request(session.setMode, { sessionId: made.sessionId, modeId: "plain" });
  const prompt = [{ type: "text", text: "buy milk" }];
  report.stop = (await agent.request(session.prompt, { sessionId: made.sessionId, prompt })).stopReason;
  await settled();
  report.live = told();
  return made.sessionId;
});
await connected(async (agent) => {
  const loaded = await agent.request(session.load, { ...setup, sessionId });
  await settled();
  report.mode = loaded.modes.currentModeId;
  report.replayed = told();
  const listed = await agent.request(session.list, { cwd: "/tmp" });
  report.listed = listed.sessions.map((info) => [info.sessionId === sessionId, info.title]);
  const fork = await agent.request("session/fork", { ...setup, sessionId });
  await agent.request(session.delete, { sessionId });
  report.left = (await agent.request(session.list, {})).sessions.map((info) => info.sessionId === fork.sessionId);
});
console.log(JSON.stringify(report));
