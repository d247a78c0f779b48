// The client of the TypeScript SDK, whatever it talks over: gives the agent one order and counts what comes of it.
// Arguments of every program with it: the plan (JSON: `warm` and `order`), then the agent's command.
import { PROTOCOL_VERSION, client, methods } from "../../ts/sdk.mjs";
import { Meter } from "./measure.mjs";

const FILE = "y".repeat(100);

export let seen;
const forget = () => (seen = { kinds: {}, chars: 0, last: "", reads: 0, updates: 0, onUpdate: () => {} });

function count(update) {
  const kind = update.sessionUpdate;
  seen.kinds[kind] = (seen.kinds[kind] ?? 0) + 1;
  if (kind === "agent_message_chunk" || kind === "user_message_chunk" || kind === "agent_thought_chunk") {
    if (update.content.type === "text") {
      seen.chars += update.content.text.length;
      seen.last = update.content.text;
    }
  }
  seen.updates++;
  seen.onUpdate();
}

// A prompt turn is read from the SDK's own session queue, which parses each update once.
async function prompt(session, text) {
  const answered = session.prompt(text);
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") return answered;
    count(message.update);
  }
}

// A load has no such queue. Its answer may be seen before the last handlers ran, so the updates are counted.
async function replay(agent, updates) {
  const allSeen = new Promise((done) => (seen.onUpdate = () => seen.updates === updates && done()));
  await agent.request(methods.agent.session.load, { cwd: "/", sessionId: `replay-${updates}`, mcpServers: [] });
  await allSeen;
}

export async function carryOut(agent, session, order) {
  forget();
  if (order.do === "replay") return replay(agent, order.count);
  return prompt(session, order.do === "length" ? "z".repeat(order.size) : JSON.stringify(order));
}

export const plan = JSON.parse(process.argv[2]);
export const [command, ...args] = process.argv.slice(3);
export const app = client({ name: "bench" }).onRequest(methods.client.fs.readTextFile, () => {
  seen.reads++;
  return { content: FILE };
});
if (plan.order.do === "replay") {
  app.onNotification(methods.client.session.update, ({ params }) => count(params.update));
}

// What the order cost, as measured here.
export async function converse(agent) {
  await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: false } },
  });
  const session = await agent.buildSession("/").start();
  if (plan.warm) await carryOut(agent, session, plan.warm);
  const meter = new Meter();
  await carryOut(agent, session, plan.order);
  const { kinds, chars, reads, last } = seen;
  const cost = { ...meter.read(), kinds, chars, reads, last };
  await carryOut(agent, session, { do: "figures" });
  return { ...cost, agent: JSON.parse(seen.last) };
}
