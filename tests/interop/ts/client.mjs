// The client of the story, written with the official TypeScript SDK.
//
// Arguments: `hello` or `story`, the story's orders as JSON, and the agent's command. It prints what it has seen as one
// JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, RequestError, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const { session, fs, terminal, elicitation } = methods.client;
const files = { "/story/in.txt": "line one\nline two\nline three\n" };
const commands = {};
const hints = [];
let seen = [];

function onUpdate({ params, agent }) {
  seen.push(params.update);
  if (params.update.sessionUpdate === "agent_message_chunk" && params.update.content.text === "waiting") {
    return agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
  }
}

function onPermission({ params }) {
  const wanted = params.toolCall.title.split("(")[1].replace(")", "");
  const chosen = params.options.filter((option) => option.kind.startsWith(wanted)).at(-1);
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

function onRead({ params: { path, line, limit } }) {
  if (!(path in files)) throw RequestError.resourceNotFound(path);
  const lines = files[path].match(/.*\n/g).slice((line ?? 1) - 1);
  return { content: lines.slice(0, limit ?? undefined).join("") };
}

function onCreate({ params }) {
  const env = (params.env ?? []).map(({ name, value }) => `${name}=${value}`);
  commands["t-1"] = [...env, params.command, ...(params.args ?? []), params.cwd, params.outputByteLimit].join(" ");
  return { terminalId: "t-1" };
}

const app = client({ name: "story-client" })
  .onNotification(session.update, onUpdate)
  .onRequest(session.requestPermission, onPermission)
  .onRequest(fs.readTextFile, onRead)
  .onRequest(fs.writeTextFile, ({ params }) => {
    files[params.path] = params.content;
    return {};
  })
  .onRequest(terminal.create, onCreate)
  .onRequest(terminal.output, ({ params }) => ({
    output: commands[params.terminalId],
    truncated: false,
    exitStatus: { exitCode: 0 },
  }))
  .onRequest(terminal.waitForExit, () => ({ exitCode: 0 }))
  .onRequest(terminal.kill, () => ({}))
  .onRequest(terminal.release, ({ params }) => {
    delete commands[params.terminalId];
    return {};
  })
  .onRequest(elicitation.create, ({ params }) => {
    const names = Object.keys(params.requestedSchema.properties);
    return { action: "accept", content: Object.fromEntries(names.map((name) => [name, "Ada"])) };
  })
  .onRequest("_story/ask", (params) => params, ({ params }) => ({ answer: `story/ask ${params.question}` }))
  .onNotification("_story/hint", (params) => params, ({ params }) => void hints.push(params.text));

// The SDK answers a prompt as soon as the response is there; one turn of the loop lets the handlers before it run.
const settled = () => new Promise((done) => setImmediate(done));

function told() {
  const tools = {};
  for (const update of seen) {
    if (update.toolCallId) tools[update.toolCallId] = update.status ?? tools[update.toolCallId] ?? "pending";
  }
  const chunks = seen.filter((update) => update.sessionUpdate === "agent_message_chunk");
  const report = {
    kinds: seen.map((update) => update.sessionUpdate),
    text: chunks.map((chunk) => chunk.content.text ?? "").join(""),
  };
  if (Object.keys(tools).length) report.tools = tools;
  seen = [];
  return report;
}

async function turn(agent, sessionId, ...blocks) {
  const prompt = blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
  const end = await agent.request(methods.agent.session.prompt, { sessionId, prompt }).then(
    (answer) => ({ stop: answer.stopReason }),
    (error) => ({ error: error.code }),
  );
  await settled();
  return { ...told(), ...end };
}

async function initialize(agent) {
  const answer = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "story-client", version: "1" },
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      elicitation: { form: {} },
    },
  });
  return { version: answer.protocolVersion, agent: answer.agentInfo.name };
}

const failing = (work) => work.then(() => 0, (error) => error.code);
const setup = { cwd: "/story", mcpServers: [] };

async function hello(agent) {
  const report = { initialize: await initialize(agent) };
  const { sessionId } = await agent.request(methods.agent.session.new, setup);
  report.hello = await turn(agent, sessionId, "hello ", "again");
  report["no such session"] = await turn(agent, "nowhere", "hello");
  report["no such method"] = await failing(agent.request("_story/none", {}));
  return report;
}

const BLOCKS = [
  { type: "image", data: "aGk=", mimeType: "image/png" },
  { type: "resource_link", name: "in", uri: "file:///story/in.txt" },
  { type: "resource", resource: { uri: "file:///story/x.txt", text: "x" } },
];

async function story(agent, orders) {
  const report = { initialize: await initialize(agent) };
  const { sessionId, modes } = await agent.request(methods.agent.session.new, setup);
  report.modes = modes.availableModes.map((mode) => mode.id);
  await agent.request(methods.agent.session.setMode, { sessionId, modeId: "loud" });
  const option = { sessionId, configId: "model", value: "large" };
  const changed = await agent.request(methods.agent.session.setConfigOption, option);
  report.model = changed.configOptions[0].currentValue;
  await agent.notify("_story/note", { text: "noted" });
  report.shout = await agent.request("_story/shout", { text: "hey" });
  report["no such method"] = await failing(agent.request("_story/none", {}));
  for (const order of orders) report[order] = await turn(agent, sessionId, order);
  report.blocks = await turn(agent, sessionId, "blocks", ...BLOCKS);
  await agent.request(methods.agent.session.load, { ...setup, sessionId: "stored" });
  await settled();
  report.load = told();
  report["load what is lost"] = await failing(
    agent.request(methods.agent.session.load, { ...setup, sessionId: "lost" }),
  );
  report.written = files["/story/out.txt"];
  report.hints = hints;
  return report;
}

const [tale, orders, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const report = await app.connectWith(stream, (agent) =>
  tale === "hello" ? hello(agent) : story(agent, JSON.parse(orders)),
);
console.log(JSON.stringify(report));
child.stdin.end();
