// An agent on the official TypeScript SDK that does what its prompt says. `official_agent.py` has the words.

import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The SDK lies where the tests with other makers' programs have it.
const require = createRequire(new URL("../../interop/ts/package.json", import.meta.url));
const { agent, methods, ndJsonStream } = await import(
  pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href
);

const { session, fs } = methods.client;
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
let sessions = 0;

const verbs = {
  permit: (client, sessionId, toolCall) =>
    client.request(session.requestPermission, { sessionId, toolCall, options }),

  tell: (client, sessionId, update) =>
    client.notify(session.update, { sessionId, update: { sessionUpdate: "tool_call_update", ...update } }),

  write: (client, sessionId, params) => client.request(fs.writeTextFile, { sessionId, ...params }),

  async run(client, sessionId, params) {
    const terminal = await client.createTerminal({ sessionId, ...params });
    await terminal.waitForExit();
  },
};

agent({ name: "cheat" })
  .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `typescript-${++sessions}` }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    for (const step of JSON.parse(params.prompt[0].text)) {
      const [[verb, value]] = Object.entries(step);
      try {
        await verbs[verb](client, params.sessionId, value);
      } catch {
        // a refusal changes nothing
      }
    }
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
