// The agent of the TypeScript SDK, whatever it is served over. It does what the prompt's text orders; `figures` tells what
// that cost.
import { agent, methods } from "../../ts/sdk.mjs";
import { Meter, loadMix, loadTexts, percentiles } from "./measure.mjs";

const PATH = "/project/src/parser.py";
const { session, fs } = methods.client;

const meter = new Meter();
let latencies = {};

const say = (client, sessionId, text) =>
  client.notify(session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
  });

async function readFile(client, sessionId) {
  const answer = await client.request(fs.readTextFile, { sessionId, path: PATH });
  if (answer.content.length !== 100) throw new Error("a read was answered with something else");
}

const orders = {
  async stream(client, sessionId, { count, size }) {
    const texts = loadTexts(size);
    for (let n = 0; n < count; n++) await say(client, sessionId, texts[n % texts.length]);
  },

  async reads(client, sessionId, { count }) {
    const taken = [];
    for (let n = 0; n < count; n++) {
      const began = performance.now();
      await readFile(client, sessionId);
      taken.push(performance.now() - began);
    }
    latencies = percentiles(taken);
  },

  async inflight(client, sessionId, { count, window }) {
    const worker = async () => {
      for (let n = 0; n < count / window; n++) await readFile(client, sessionId);
    };
    await Promise.all(Array.from({ length: window }, worker));
  },

  figures: (client, sessionId) => say(client, sessionId, JSON.stringify({ ...meter.read(), ...latencies })),
};

async function prompt({ params, client }) {
  const { text } = params.prompt[0];
  if (!text.startsWith("{")) {
    await say(client, params.sessionId, String(text.length));
    return { stopReason: "end_turn" };
  }
  const order = JSON.parse(text);
  if (order.do !== "figures") meter.start();
  await orders[order.do](client, params.sessionId, order);
  return { stopReason: "end_turn" };
}

const mix = loadMix(); // what a load replays, made before anything is measured

async function load({ params, client }) {
  const { sessionId } = params;
  const count = Number(sessionId.slice("replay-".length));
  meter.start();
  for (let n = 0; n < count; n++) await client.notify(session.update, { sessionId, update: mix[n % mix.length] });
  return {};
}

export const app = agent({ name: "bench" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, () => {
    meter.baseline();
    return { sessionId: "bench" };
  })
  .onRequest(methods.agent.session.load, load)
  .onRequest(methods.agent.session.prompt, prompt);
