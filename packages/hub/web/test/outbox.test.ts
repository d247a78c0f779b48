import assert from "node:assert/strict";
import test from "node:test";
import { Conversation } from "../src/model/conversation";
import type { Stored } from "../src/model/history";
import { canTakeBack, outboxCounts, waitingIn } from "../src/model/outbox";
import { type PieceMark, joinPage, piecesOf, surplus, tooMany } from "../src/model/reading";
import { sendingLabel } from "../src/model/steering";
import type { ContentBlock } from "../src/model/types";
import { Gone } from "../src/wire/rpc";

const words = (text: string): ContentBlock[] => [{ type: "text", text }];
let count = 0;

/** A hub that can be cut off: it answers what every session asks for, and never ends a turn. */
function hub() {
  const prompts: [string, string][] = [];
  const lost: ((error: Error) => void)[] = [];
  const rpc: any = { // a fake of the connection
    isEnded: false,
    call: (method: string, params: any): Promise<any> => {
      if (rpc.isEnded) return Promise.reject(new Gone("not connected"));
      if (method === "_dragoman/hub/history") return Promise.resolve({ messages: [] });
      if (method === "_dragoman/hub/attach") return Promise.resolve({ session: null, snapshot: {} });
      if (method === "session/prompt") prompts.push([params._meta.dragoman.key, params.prompt[0].text]);
      return new Promise((_, reject) => lost.push(reject));
    },
    cut: () => {
      rpc.isEnded = true;
      lost.forEach((reject) => reject(new Gone("cut")));
    },
  };
  return { rpc, prompts };
}

const talk = (id = `outbox-${(count += 1)}`): Conversation => new Conversation(id, null, () => {});

test("what is written without a network waits in its order, and is sent once when it is back", async () => {
  const first = hub();
  const open = talk();
  await open.attach(first.rpc);
  first.rpc.cut();
  open.prompt(first.rpc, words("one"));
  open.prompt(first.rpc, words("two"));
  assert.deepEqual(first.prompts, []);
  assert.deepEqual(open.sending.map((sending) => sendingLabel(sending, false)), ["Waiting for the network", "Waiting for the network"]);
  assert.equal(outboxCounts()[open.id], 2);
  const reloaded = talk(open.id);
  const second = hub();
  reloaded.prompt(second.rpc, words("three")); // the new connection is there, but what waits comes first
  await reloaded.attach(second.rpc);
  assert.deepEqual(second.prompts.map(([, text]) => text), ["one", "two", "three"]);
});

test("a message that may have arrived is neither edited nor taken back, and is sent again under its key", async () => {
  const first = hub();
  const open = talk();
  await open.attach(first.rpc);
  open.prompt(first.rpc, words("one"));
  first.rpc.cut();
  await Promise.resolve();
  assert.equal(canTakeBack(open.sending[0]), false);
  assert.ok(sendingLabel(open.sending[0], false).includes("not confirmed"));
  const second = hub();
  await open.attach(second.rpc);
  assert.deepEqual(second.prompts, first.prompts);
});

test("what waits can be edited in its place and taken back, also in another tab", async () => {
  const cut = hub();
  cut.rpc.cut();
  const open = talk();
  for (const text of ["one", "two", "three"]) open.prompt(cut.rpc, words(text));
  const otherTab = talk(open.id);
  otherTab.edit(otherTab.sending[0], words("ONE"));
  otherTab.forget(otherTab.sending[1]);
  open.readOutbox();
  assert.deepEqual(open.sending.map(({ prompt }) => prompt[0].text), ["ONE", "three"]);
  otherTab.forget(otherTab.sending[0]); // this tab does not hear of it
  const back = hub();
  await open.attach(back.rpc);
  assert.deepEqual(back.prompts.map(([, text]) => text), ["three"]);
  assert.deepEqual(waitingIn(open.id).map(({ prompt }) => prompt[0].text), ["three"]);
});

const entries = (from: number, to: number): Stored[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ({ cursor: String(from + at), message: { method: "session/update" } }));
const range = (messages: Stored[]): string => `${messages[0]?.cursor}-${messages.at(-1)?.cursor} ${messages.length}`;

const mark = (first: number, last: number, bytes = 10): PieceMark => ({ number: first, first, last, bytes });

test("pages of the archive are joined where they touch", () => {
  const joined = (kept: PieceMark[], page: Stored[], before: string): string => {
    const { added, isReplaced } = joinPage(kept, page, before);
    return `${isReplaced ? "anew" : "and"} ${range(added)}`;
  };
  assert.equal(joined([mark(1, 10)], entries(5, 20), ""), "and 11-20 10");
  assert.equal(joined([mark(1, 6), mark(7, 10)], entries(12, 20), ""), "anew 12-20 9", "a gap is not hidden");
  assert.equal(joined([], entries(12, 20), ""), "anew 12-20 9");
  assert.equal(joined([mark(5, 20)], entries(1, 4), "5"), "and 1-4 4");
  assert.deepEqual(joinPage([mark(6, 20)], entries(1, 4), "5"), { added: [], isReplaced: false });
  assert.deepEqual(joinPage([mark(6, 20)], [], ""), { added: [], isReplaced: false });
});

test("a session is kept in pieces, and an entry is in one of them", () => {
  const messages = [...entries(1, 3), ...entries(3, 3), ...entries(4, 5)];
  const size = JSON.stringify(messages[0]).length;
  const pieces = [...piecesOf(messages, 3 * size)];
  assert.deepEqual(pieces.map((piece) => range(piece.messages)), ["1-3 4", "4-5 2"]);
  assert.deepEqual(pieces.map(({ bytes }) => bytes), [4 * size, 2 * size]);
  assert.deepEqual([...piecesOf(messages)].map((piece) => piece.messages), [messages]);
  assert.deepEqual([...piecesOf([])], []);
});

test("a copy is bounded: the end of a session stays", () => {
  const pieces = [mark(1, 2), mark(3, 4), mark(5, 6)];
  assert.deepEqual(tooMany(pieces, 20), [mark(1, 2)]);
  assert.deepEqual(tooMany(pieces, 30), []);
  assert.deepEqual(tooMany(pieces, 5), pieces);
  assert.deepEqual(tooMany([], 5), []);
});

test("what was read longest ago goes first", () => {
  const copies = [1, 2, 3, 4].map((usedAt) => ({ id: `s${usedAt}`, bytes: 10, usedAt }));
  assert.deepEqual(surplus(copies, { sessions: 3, bytes: 100 }), ["s1"]);
  assert.deepEqual(surplus(copies, { sessions: 9, bytes: 25 }), ["s2", "s1"]);
  assert.deepEqual(surplus(copies), []);
});
