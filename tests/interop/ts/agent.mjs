// The agent of the story, written with the official TypeScript SDK. A prompt's first word is an order.

import { Readable, Writable } from "node:stream";
import { RequestError, agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const { session, fs, elicitation } = methods.client;
const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

const notes = [];
let mode = "plain";
let model = "small";
let stop = () => {};

const config = () => ({
  type: "select",
  id: "model",
  name: "Model",
  currentValue: model,
  options: [
    { value: "small", name: "Small" },
    { value: "large", name: "Large" },
  ],
});

const text = (words) => ({ type: "text", text: words });
const update = (client, sessionId, update) => client.notify(session.update, { sessionId, update });
const say = (client, sessionId, words) =>
  update(client, sessionId, { sessionUpdate: "agent_message_chunk", content: text(words) });
const progress = (client, sessionId, toolCallId, fields) =>
  update(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId, ...fields });

const orders = {
  async stream(client, id) {
    await update(client, id, { sessionUpdate: "agent_thought_chunk", content: text("hm") });
    const entries = [
      { content: "think", priority: "high", status: "completed" },
      { content: "answer", priority: "medium", status: "in_progress" },
    ];
    await update(client, id, { sessionUpdate: "plan", entries });
    for (const word of ["one ", "two ", "three"]) await say(client, id, word);
  },

  async tool(client, id, rest) {
    const call = { toolCallId: `call-${rest}`, title: `Do it (${rest})`, kind: "edit", status: "pending" };
    await update(client, id, { sessionUpdate: "tool_call", ...call });
    const params = { sessionId: id, toolCall: call, options: OPTIONS };
    const { outcome } = await client.request(session.requestPermission, params);
    const chosen = outcome.outcome === "selected" ? outcome.optionId : "nothing";
    const steps = ["yes", "always"].includes(chosen) ? ["in_progress", "completed"] : ["failed"];
    for (const status of steps) await progress(client, id, call.toolCallId, { status });
    await say(client, id, `${chosen} was chosen`);
  },

  async read(client, id, path) {
    try {
      const answer = await client.request(fs.readTextFile, { sessionId: id, path, line: 2, limit: 1 });
      await say(client, id, answer.content);
    } catch (error) {
      await say(client, id, `error ${error.code}`);
    }
  },

  async write(client, id, rest) {
    const [path, ...words] = rest.split(" ");
    await client.request(fs.writeTextFile, { sessionId: id, path, content: words.join(" ") });
    await say(client, id, "written");
  },

  async run(client, id) {
    await update(client, id, { sessionUpdate: "tool_call", toolCallId: "call-run", title: "Run", kind: "execute" });
    const env = [{ name: "STORY", value: "1" }];
    const command = { command: "echo", args: ["hello"], env, cwd: "/story", outputByteLimit: 99 };
    const terminal = await client.createTerminal({ sessionId: id, ...command });
    await progress(client, id, "call-run", { content: [{ type: "terminal", terminalId: terminal.id }] });
    const ended = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.kill();
    await terminal.release();
    await progress(client, id, "call-run", { status: "completed" });
    await say(client, id, `${output} ${ended.exitCode}`);
  },

  async wait(client, id) {
    const stopped = new Promise((done) => (stop = done));
    await say(client, id, "waiting");
    await stopped;
    return "cancelled";
  },

  refuse() {
    throw RequestError.authRequired();
  },

  crash() {
    throw new Error("the key is sk-story");
  },

  async future(client, id) {
    await update(client, id, { sessionUpdate: "from_the_future", when: 2030 });
    await say(client, id, "and back");
  },

  async extend(client, id) {
    await client.notify("_story/hint", { text: "psst" });
    const { answer } = await client.request("_story/ask", { question: "why" });
    await say(client, id, `${answer}, ${notes.join(", ")}`);
  },

  async elicit(client, id) {
    const requestedSchema = {
      type: "object",
      properties: { name: { type: "string", title: "Name" } },
      required: ["name"],
    };
    const form = { mode: "form", sessionId: id, message: "Who are you?", requestedSchema };
    const answer = await client.request(elicitation.create, form);
    await say(client, id, `Hello ${answer.action === "accept" ? answer.content.name : "nobody"}`);
  },

  blocks: (client, id, rest, prompt) => say(client, id, prompt.map((block) => block.type).join(" ")),

  settings: (client, id) => say(client, id, `${mode} ${model}`),
};

agent({ name: "story" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentInfo: { name: "story", version: "1" },
    agentCapabilities: { loadSession: true, promptCapabilities: { image: true, embeddedContext: true } },
  }))
  .onRequest(methods.agent.session.new, () => {
    const availableModes = [
      { id: "plain", name: "Plain" },
      { id: "loud", name: "Loud" },
    ];
    return { sessionId: "s-1", modes: { currentModeId: mode, availableModes }, configOptions: [config()] };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    if (params.sessionId !== "stored") throw RequestError.resourceNotFound(params.sessionId);
    await update(client, "stored", { sessionUpdate: "user_message_chunk", content: text("earlier") });
    await say(client, "stored", "answered");
    return {};
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    mode = params.modeId;
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    model = params.value;
    return { configOptions: [config()] };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const [order, ...rest] = params.prompt[0].text.split(" ");
    const stopReason = await orders[order](client, params.sessionId, rest.join(" "), params.prompt);
    return { stopReason: stopReason ?? "end_turn" };
  })
  .onNotification(methods.agent.session.cancel, () => stop())
  .onRequest("_story/shout", (params) => params, ({ params }) => ({ text: params.text.toUpperCase() }))
  .onNotification("_story/note", (params) => params, ({ params }) => void notes.push(params.text))
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
