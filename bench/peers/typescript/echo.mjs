// The smallest useful agent of the TypeScript SDK: it repeats what it is told.
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "../../ts/sdk.mjs";

export const echo = () =>
  agent({ name: "echo" })
    .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "echo" }))
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      for (const content of params.prompt) {
        await client.notify(methods.client.session.update, {
          sessionId: params.sessionId,
          update: { sessionUpdate: "agent_message_chunk", content },
        });
      }
      return { stopReason: "end_turn" };
    });

if (import.meta.url === `file://${process.argv[1]}`) {
  echo().connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}
