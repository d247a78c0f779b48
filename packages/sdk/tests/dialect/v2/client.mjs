// A v2 client of the official TypeScript SDK.
//
// Arguments: a tale, a folder and the agent's command. It prints what it has seen as one JSON object. `example` asks
// any agent for an echo; `review` has the folder reviewed and mended, is not patient, and resumes the session.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const sdk = new URL("../../../../../tests/interop/ts/node_modules/@agentclientprotocol/sdk/dist/v2/stable/acp.js", import.meta.url);
const { PROTOCOL_VERSION, client, methods, ndJsonStream } = await import(sdk);
const { session } = methods.agent;

const [tale, cwd, command, ...args] = process.argv.slice(2);
const asked = [];
let seen = [];
let idles = 0;
let waiting = [];
let patient = true;

const app = client({ name: "v2-client" })
  .onNotification(methods.client.session.update, ({ params }) => {
    seen.push(params.update);
    if (params.update.sessionUpdate !== "state_update" || params.update.state !== "idle") return;
    idles += 1;
    waiting = waiting.filter(({ count, done }) => idles < count || done());
  })
  .onRequest(methods.client.session.requestPermission, async ({ params, agent }) => {
    const diff = params.subject.toolCall.content?.find((item) => item.type === "diff");
    asked.push({ title: params.title, changes: diff?.changes, patch: diff?.patch?.text });
    if (patient) {
      const chosen = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: chosen.optionId } };
    }
    patient = true;
    await agent.notify(session.cancel, { sessionId: params.sessionId });
    return { outcome: { outcome: "cancelled" } };
  });

// Until the session has been idle so many times.
const idle = (count) => new Promise((done) => (idles >= count ? done() : waiting.push({ count, done })));

function told() {
  const updates = seen;
  seen = [];
  const tools = {};
  for (const update of updates) {
    if (update.toolCallId) tools[update.toolCallId] = update.status ?? tools[update.toolCallId];
  }
  const of = (kind) => updates.filter((update) => update.sessionUpdate === kind);
  const texts = (kind) => of(kind).map((update) => update.content.text ?? update.content.type);
  return {
    kinds: [...new Set(updates.map((update) => update.sessionUpdate))].sort(),
    states: of("state_update").map((update) => update.stopReason ?? update.state),
    user: of("user_message")
      .filter((update) => update.content.length > 0) // a replay empties it first
      .map((update) => [update.messageId, update.content[0].text]),
    replayed: texts("user_message_chunk"),
    text: texts("agent_message_chunk").join(""),
    tools: [...new Set(Object.values(tools))].sort(),
    plan: of("plan_update").at(-1)?.plan,
  };
}

const failing = (work) => work.then(() => 0, (error) => error.code);
const says = (text) => [{ type: "text", text }];

async function turn(agent, sessionId, prompt) {
  const ended = idle(idles + 1);
  const { messageId } = await agent.request(session.prompt, { sessionId, prompt });
  await ended;
  return { messageId, ...told() };
}

async function example(agent) {
  const { sessionId } = await agent.request(session.new, { cwd, mcpServers: [] });
  const prompt = [...says("hello"), { type: "resource_link", name: "in", uri: "file:///tmp/in.txt" }];
  const report = { turn: await turn(agent, sessionId, prompt) };
  report.listed = (await agent.request(session.list, {})).sessions.map((one) => one.cwd);
  await agent.request(session.close, { sessionId });
  report.closed = await failing(agent.request(session.prompt, { sessionId, prompt }));
  return report;
}

async function review(agent) {
  const made = await agent.request(session.new, { cwd, mcpServers: [] });
  const { sessionId } = made;
  const report = { options: made.configOptions.map((option) => option.configId) };
  report.review = await turn(agent, sessionId, says("review src/app.py"));
  const option = { sessionId, configId: "mode", type: "id" };
  const changed = await agent.request(session.setConfigOption, { ...option, value: "fix" });
  report.mode = changed.configOptions.find((one) => one.configId === "mode").currentValue;
  await agent.request(session.setConfigOption, { ...option, value: "review" });
  patient = false;
  report.cancelled = await turn(agent, sessionId, says("apply the fixes"));
  report.fix = await turn(agent, sessionId, says("apply the fixes"));
  const both = idle(idles + 2);
  const prompts = ["sing!", "dance!"].map((text) => agent.request(session.prompt, { sessionId, prompt: says(text) }));
  report.acknowledged = (await Promise.all(prompts)).map((answer) => answer.messageId);
  await both;
  report.both = told();
  const { sessions } = await agent.request(session.list, { cwd });
  report.listed = sessions.map((one) => one.sessionId === sessionId);
  await agent.request(session.close, { sessionId });
  told();
  const replayFrom = { type: "start" };
  const back = idle(idles + 1); // the SDK may hand out an answer before what came before it
  await agent.request(session.resume, { cwd, sessionId, replayFrom });
  await back;
  report.resumed = told();
  report.lost = await failing(agent.request(session.resume, { cwd, sessionId: "lost", replayFrom }));
  report.unknown = await failing(agent.request("_no/such", {}));
  return report;
}

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const report = await app.connectWith(stream, async (agent) => {
  const info = { name: "v2-client", version: "1" };
  const met = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, info });
  return { version: met.protocolVersion, agent: met.info.name, ...(await { example, review }[tale](agent)) };
});
const gone = new Promise((done) => child.on("exit", done));
child.stdin.end();
await gone;
console.log(JSON.stringify({ ...report, asked }));
