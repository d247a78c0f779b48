// A client of the official TypeScript SDK at a hub. Arguments: the address (http or ws), the token if it goes into a
// header, a folder. It makes a session, is asked for permission, comes again and loads the session, lists and loses one;
// it prints what it has seen as one JSON object.

import { PROTOCOL_VERSION, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const [url, token, cwd] = process.argv.slice(2);
const seen = [];
const asked = [];

const app = client({ name: "hub" })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    seen.push(`${update.sessionUpdate}: ${update.content?.text ?? ""}`);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params.options[0].kind);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });

const stream = url.startsWith("ws")
  ? createWebSocketStream(url)
  : createHttpStream(url, { headers: { authorization: `Bearer ${token}` } });

const report = await app.connectWith(stream, async (agent) => {
  const hello = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  const setup = { cwd, mcpServers: [] };
  const { sessionId } = await agent.request(methods.agent.session.new, setup);
  const prompt = [{ type: "text", text: `/ask ${cwd}/made` }];
  const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  const texts = () => seen.filter((one) => /_chunk/.test(one));
  const said = texts();
  seen.length = 0;
  await agent.request(methods.agent.session.load, { ...setup, sessionId });
  // Over HTTP the answer of a load may overtake what it brings, which comes over another stream.
  while (texts().length <= said.length) await new Promise((next) => setTimeout(next, 5));
  const { sessions } = await agent.request(methods.agent.session.list, { cwd });
  const lost = await agent
    .request(methods.agent.session.prompt, { sessionId: "lost", prompt })
    .then(() => 0, (error) => error.code);
  const listed = sessions.some((one) => one.sessionId === sessionId);
  return { version: hello.protocolVersion, stopReason, said, loaded: texts(), asked, listed, lost };
});
console.log(JSON.stringify(report));
process.exit(0);
