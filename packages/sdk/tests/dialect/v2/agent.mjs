// The agent of the story once more, as a v2 agent of the official TypeScript SDK. A prompt's first word is an order.
//
// What a v1 agent asks the client for, files and commands, this one finds as tools of the MCP server `client`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

const sdk = new URL("../../../../../tests/interop/ts/node_modules/@agentclientprotocol/sdk/dist/v2/stable/acp.js", import.meta.url);
const { RequestError, agent, methods, ndJsonStream } = await import(sdk);
const { session, elicitation } = methods.client;
const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

const chosen = { mode: "plain", model: "small" };
const notes = [];
let messages = 0;
let tools = async () => ({});
let stop = () => {};

const select = (configId, name, values, more) => ({
  type: "select",
  configId,
  name,
  currentValue: chosen[configId],
  options: values.map((value) => ({ value, name: value[0].toUpperCase() + value.slice(1) })),
  ...more,
});
const configOptions = () => [
  select("model", "Model", ["small", "large"]),
  select("mode", "Mode", ["plain", "loud"], { category: "mode" }),
];

const text = (words) => ({ type: "text", text: words });
const update = (client, sessionId, update) => client.notify(session.update, { sessionId, update });
const say = (client, sessionId, words, messageId = `m-${++messages}`) =>
  update(client, sessionId, { sessionUpdate: "agent_message_chunk", messageId, content: text(words) });
const progress = (client, sessionId, toolCallId, fields) =>
  update(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId, ...fields });
const state = (client, sessionId, state, fields = {}) =>
  update(client, sessionId, { sessionUpdate: "state_update", state, ...fields });

// As much of an MCP client as this needs.
function mcp({ command, args, env }) {
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const server = spawn(command, args, { env: { ...process.env, ...variables }, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: server.stdout }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line);
    waiting.get(id)(error ? { error } : result);
  });
  const ask = (method, params) =>
    new Promise((done) => {
      waiting.set(waiting.size, done);
      server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: waiting.size - 1, method, params }) + "\n");
    });
  const info = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "story", version: "1" } };
  const greeted = ask("initialize", info);
  process.stdin.on("end", () => server.stdin.end());
  return async (name, input) => {
    await greeted;
    const { content, isError } = await ask("tools/call", { name, arguments: input });
    return { text: content[0].text, isError };
  };
}

const orders = {
  async stream(client, id) {
    await update(client, id, { sessionUpdate: "agent_thought_chunk", messageId: "t", content: text("hm") });
    const entries = [
      { content: "think", priority: "high", status: "completed" },
      { content: "answer", priority: "medium", status: "in_progress" },
    ];
    await update(client, id, { sessionUpdate: "plan_update", plan: { type: "items", planId: "main", entries } });
    for (const word of ["one ", "two ", "three"]) await say(client, id, word, "streamed");
    const content = [text("one two three")];
    await update(client, id, { sessionUpdate: "agent_message", messageId: "streamed", content });
  },

  async tool(client, id, rest) {
    const toolCall = { toolCallId: `call-${rest}`, title: `Do it (${rest})`, kind: "edit", status: "pending" };
    await progress(client, id, toolCall.toolCallId, toolCall);
    await state(client, id, "requires_action");
    const subject = { type: "tool_call", toolCall };
    const params = { sessionId: id, title: "May I?", subject, options: OPTIONS };
    const { outcome } = await client.request(session.requestPermission, params);
    await state(client, id, "running");
    const answer = outcome.outcome === "selected" ? outcome.optionId : "nothing";
    const steps = ["yes", "always"].includes(answer) ? ["in_progress", "completed"] : ["cancelled"];
    for (const status of steps) await progress(client, id, toolCall.toolCallId, { status });
    await say(client, id, `${answer} was chosen`);
  },

  async read(client, id, path) {
    const read = await tools("read_text_file", { path, line: 2, limit: 1 });
    await say(client, id, read.isError ? "error" : read.text);
  },

  async write(client, id, rest) {
    const [path, ...words] = rest.split(" ");
    await tools("write_text_file", { path, content: words.join(" ") });
    await say(client, id, "written");
  },

  async run(client, id) {
    await progress(client, id, "call-run", { title: "Run", kind: "execute" });
    const ran = await tools("run_command", { command: "echo", args: ["hello"], env: { STORY: "1" }, cwd: "/story" });
    const data = Buffer.from(ran.text).toString("base64");
    await update(client, id, { sessionUpdate: "terminal_update", terminalId: "t-1", command: "echo", output: { data } });
    await progress(client, id, "call-run", { content: [{ type: "terminal", terminalId: "t-1" }] });
    await progress(client, id, "call-run", { status: "completed" });
    await say(client, id, ran.text);
  },

  async refuse() {
    throw RequestError.authRequired();
  },

  async crash() {
    throw new Error("sk-story");
  },

  async future(client, id) {
    await update(client, id, { sessionUpdate: "_from_the_future", when: 2030 });
    await say(client, id, "and back");
  },

  async extend(client, id) {
    await client.notify("_story/hint", { text: "psst" });
    const { answer } = await client.request("_story/ask", { question: "why" });
    await say(client, id, `${answer}, ${notes.join(", ")}`);
  },

  async elicit(client, id) {
    const properties = { name: { type: "string", title: "Name" } };
    const requestedSchema = { type: "object", properties, required: ["name"] };
    const form = { mode: "form", sessionId: id, message: "Who are you?", requestedSchema };
    const answer = await client.request(elicitation.create, form);
    await say(client, id, `Hello ${answer.action === "accept" ? answer.content.name : "nobody"}`);
  },

  async wait(client, id) {
    const stopped = new Promise((resolve) => (stop = resolve));
    await say(client, id, "waiting");
    await stopped;
    return "cancelled";
  },

  blocks: (client, id, rest, prompt) => say(client, id, prompt.map((block) => block.type).join(" ")),

  settings: (client, id) => say(client, id, `${chosen.mode} ${chosen.model}`),
};

// The prompt is acknowledged at once; what becomes of it, the session's state says.
async function work(client, { sessionId, prompt }) {
  const [order, ...rest] = prompt[0].text.split(" ");
  const ended = await Promise.resolve(orders[order](client, sessionId, rest.join(" "), prompt)).then(
    (stopReason) => ({ stopReason: stopReason ?? "end_turn" }),
    (error) => ({ stopReason: "error", error: { code: error.code ?? -32603, message: "failed" } }),
  );
  await state(client, sessionId, "idle", ended);
}

agent({ name: "story" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 2,
    info: { name: "story", version: "1" },
    capabilities: { session: { prompt: { image: {}, embeddedContext: {} }, mcp: { stdio: {} } } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    tools = mcp(params.mcpServers.find((server) => server.name === "client"));
    return { sessionId: "s-1", configOptions: configOptions() };
  })
  .onRequest(methods.agent.session.resume, async ({ params, client }) => {
    if (params.sessionId !== "stored") throw RequestError.resourceNotFound(params.sessionId);
    const content = [text("earlier")];
    await update(client, "stored", { sessionUpdate: "user_message", messageId: "u-0", content });
    await update(client, "stored", { sessionUpdate: "agent_message", messageId: "a-0", content: [text("answered")] });
    await state(client, "stored", "idle");
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    chosen[params.configId] = params.value;
    return { configOptions: configOptions() };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const messageId = `u-${++messages}`;
    await state(client, params.sessionId, "running");
    await update(client, params.sessionId, { sessionUpdate: "user_message", messageId, content: params.prompt });
    setImmediate(() => work(client, params));
    return { messageId };
  })
  .onRequest(methods.agent.session.list, () => ({ sessions: [] }))
  .onRequest(methods.agent.session.close, () => ({}))
  .onNotification(methods.agent.session.cancel, () => stop())
  .onRequest("_story/shout", (params) => params, ({ params }) => ({ text: params.text.toUpperCase() }))
  .onNotification("_story/note", (params) => params, ({ params }) => void notes.push(params.text))
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
