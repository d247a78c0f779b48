// An agent of the official TypeScript SDK behind Streamable HTTP. It prints its port, and ends with its standard input.

import { createServer } from "node:http";
import { agent, methods } from "@agentclientprotocol/sdk";
import { createNodeHttpHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";

const { session } = methods.client;
const say = (client, sessionId, words) =>
  client.notify(session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: words } },
  });

const app = agent({ name: "remote" })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    await say(client, params.sessionId, "earlier");
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "c", title: "look" };
    const { outcome } = await client.request(session.requestPermission, { sessionId, toolCall, options });
    await say(client, sessionId, `${outcome.outcome}: ${prompt[0].text}`);
    return { stopReason: "end_turn" };
  });

const handle = createNodeHttpHandler(new AcpServer({ agent: app }));
const cookies = new Set();
const server = createServer((request, response) => {
  // Whoever balances load before servers like this one keeps its clients together with a cookie.
  if (request.method === "POST" && !request.headers["acp-connection-id"]) response.setHeader("set-cookie", "node=one");
  else cookies.add(request.headers.cookie);
  if (request.url === "/cookies") response.end(JSON.stringify([...cookies].map((cookie) => cookie ?? null)));
  else handle(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
