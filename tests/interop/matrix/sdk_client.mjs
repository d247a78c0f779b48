// A client of one prompt, written with the official TypeScript SDK. It allows every permission and prints what is said.
//
// Arguments: the prompt, and the agent's command. The variable SDK says where the installed SDK is.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { PROTOCOL_VERSION, client, methods, ndJsonStream } = await import(pathToFileURL(process.env.SDK));
const [prompt, command, ...words] = process.argv.slice(2);
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

const app = client({ name: "sdk-client" })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") process.stdout.write(update.content.text ?? "");
  })
  .onRequest(methods.client.session.requestPermission, ({ params: { options } }) => {
    const chosen = options.find((option) => option.kind === "allow_once") ?? options[0];
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  });

await app.connectWith(stream, async (peer) => {
  await peer.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  const opened = await peer.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const text = [{ type: "text", text: prompt }];
  await peer.request(methods.agent.session.prompt, { sessionId: opened.sessionId, prompt: text });
  // The SDK answers as soon as the response is there; one turn of the loop lets the handlers before it run.
  await new Promise((done) => setImmediate(done));
});
agent.stdin.end();
await new Promise((done) => agent.on("exit", done));
