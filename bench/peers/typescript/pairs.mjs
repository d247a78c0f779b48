// Idle connections of the TypeScript SDK: N pairs in one process, over its own in-memory connection.
// Run with --expose-gc: what a collection would free is not the price of a pair.
import { PROTOCOL_VERSION, client, methods } from "../../ts/sdk.mjs";
import { echo } from "./echo.mjs";
import { memoryKb } from "./measure.mjs";

const kept = [];

const agentApp = echo();
const clientApp = client({ name: "idle" })
  .onNotification(methods.client.session.update, () => {})
  .onRequest(methods.client.fs.readTextFile, () => ({ content: "" }));

async function openPair() {
  const connection = clientApp.connect(agentApp);
  await connection.agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  await connection.agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  kept.push(connection);
}

const settled = async () => {
  await new Promise((done) => setImmediate(done));
  globalThis.gc();
  return memoryKb("VmRSS");
};

const count = Number(process.argv[2]);
for (let n = 0; n < 20; n++) await openPair();
const before = await settled();
for (let n = 0; n < count; n++) await openPair();
console.log(JSON.stringify({ pairs: count, grown_kb: (await settled()) - before }));
for (const connection of kept) connection.close();
