// A client of the official TypeScript SDK that walks through everything an agent of the crow dialect can do.
//
// Arguments: the agent's command. It prints what it has seen as one JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const sdk = new URL("../../../../../tests/interop/ts/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js", import.meta.url);
const { PROTOCOL_VERSION, client, methods, ndJsonStream } = await import(sdk);

let seen = [];
const answers = ["allow_once", "reject_once"];
const asked = [];

const app = client({ name: "walker" })
  .onNotification(methods.client.session.update, ({ params, agent }) => {
    seen.push(params.update);
    if (params.update.content?.text === "waiting") {
      return agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
    }
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push([params.toolCall.title, params.toolCall.rawInput.arguments, ...params.options.map(({ kind }) => kind)]);
    const kind = answers.shift();
    const chosen = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  });

async function told() {
  await new Promise((done) => setImmediate(done));
  const updates = seen;
  seen = [];
  return updates.map((update) => [update.sessionUpdate, update.content?.text ?? update.status ?? null]);
}

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const report = { asked };
await app.connectWith(stream, async (agent) => {
  const hello = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: "walker", version: "1" },
  });
  report.agent = [hello.agentInfo.name, hello.agentCapabilities.loadSession];
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  const turn = async (text, id = sessionId) => {
    const prompt = [{ type: "text", text }];
    const end = await agent
      .request(methods.agent.session.prompt, { sessionId: id, prompt })
      .then(({ stopReason }) => stopReason, ({ code }) => code);
    return [...(await told()), end];
  };
  report.turns = [await turn("count"), await turn("count"), await turn("wait"), await turn("fail")];
  report.lost = await turn("hello", "nowhere");
  await agent.request(methods.agent.session.load, { sessionId, cwd: "/", mcpServers: [] });
  report.loaded = await told();
});
console.log(JSON.stringify(report));
const ended = new Promise((done) => child.on("exit", done));
child.stdin.end();
await ended;
