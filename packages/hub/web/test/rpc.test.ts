import assert from "node:assert/strict";
import test from "node:test";
import { Gone, Rpc, RpcError } from "../src/wire/rpc";

function pair(): { rpc: Rpc; sent: any[]; heard: any[] } {
  const sent: any[] = [];
  const heard: any[] = [];
  return { rpc: new Rpc((text) => sent.push(JSON.parse(text)), (message) => heard.push(message)), sent, heard };
}

test("answers find their calls in any order", async () => {
  const { rpc, sent } = pair();
  const [one, two] = [rpc.call("a", {}), rpc.call("b", {})];
  rpc.receive(JSON.stringify({ id: sent[1].id, result: 2 }));
  rpc.receive(JSON.stringify({ id: sent[0].id, result: 1 }));
  assert.deepEqual([await one, await two], [1, 2]);
});

test("an error is an error with its code", async () => {
  const { rpc, sent } = pair();
  const call = rpc.call("a", {});
  rpc.receive(JSON.stringify({ id: sent[0].id, error: { code: -32003, message: "no", data: { scope: "approve" } } }));
  await assert.rejects(call, (error: RpcError) => error.code === -32003 && error.data.scope === "approve");
});

test("requests and notifications are the owner's, garbage is nobody's", () => {
  const { rpc, heard } = pair();
  for (const text of ["{", "[]", '{"id":77,"result":1}', '{"method":"m"}', '{"id":1,"method":"q"}']) rpc.receive(text);
  assert.deepEqual(heard.map((message) => message.method), ["m", "q"]);
});

test("who waits is told when the connection is gone", async () => {
  const { rpc } = pair();
  const call = rpc.call("a", {});
  rpc.end();
  await assert.rejects(call, Gone);
  await assert.rejects(rpc.call("b", {}), Gone);
});
