// A client of the official TypeScript SDK over Streamable HTTP. Arguments: the address and the token. It prints what it
// has seen as one JSON object.

import { PROTOCOL_VERSION, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";

const [url, token] = process.argv.slice(2);
const seen = {};
const text = (sessionId) => (seen[sessionId] ?? []).join("");

const app = client({ name: "remote" })
  .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
    (seen[sessionId] ??= []).push(update.content?.text ?? "");
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options[0].optionId },
  }));

// The answer of a load may overtake what it brings, which comes over another stream.
async function settled(done) {
  while (!done()) await new Promise((next) => setTimeout(next, 5));
}

const stream = createHttpStream(url, { headers: { authorization: `Bearer ${token}` } });
const report = await app.connectWith(stream, async (agent) => {
  const hello = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  const setup = { cwd: "/tmp", mcpServers: [] };
  const { sessionId } = await agent.request(methods.agent.session.new, setup);
  const prompt = [{ type: "text", text: "hello" }];
  const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  const said = text(sessionId);
  await agent.request(methods.agent.session.load, { ...setup, sessionId: "stored" });
  await settled(() => text("stored").length > 0);
  const lost = await agent
    .request(methods.agent.session.prompt, { sessionId: "lost", prompt })
    .then(() => 0, (error) => error.code);
  return { version: hello.protocolVersion, stopReason, said, loaded: text("stored"), lost };
});
console.log(JSON.stringify(report));
process.exit(0);
