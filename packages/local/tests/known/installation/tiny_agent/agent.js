#!/usr/bin/env node
// The smallest agent: it answers every prompt with its version and ends with its input.
const { version } = require("./package.json");
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] }),
  "session/new": () => ({ sessionId: "s1" }),
  "session/prompt": () => {
    const content = { type: "text", text: `tiny ${version} ${process.argv.slice(2).join(" ")}` };
    send({ method: "session/update", params: { sessionId: "s1", update: { sessionUpdate: "agent_message_chunk", content } } });
    return { stopReason: "end_turn" };
  },
};
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    send(answer ? { id, result: answer() } : { id, error: { code: -32601, message: "Method not found" } });
  });
