/**
 * Puts an earlier page of a session in front of what is there. What the pages share is joined and the newer word
 * wins, so that the items are the same as if everything had been folded in one go.
 */

import { type Fold, add } from "./fold";
import { type Item, nameMessage, nameSubagent, nameUnknown, textOf } from "./items";

export function prepend(fold: Fold, older: Fold): void {
  joinTools(fold, older);
  joinSpeech(fold, older);
  joinUnknown(fold, older);
  joinSubagents(fold, older);
  joinPlan(fold, older);
  joinQuestions(fold, older);
  fold.addPlaces(older);
  for (const key of older.taken) fold.taken.add(key);
  fold.items = [...older.items, ...fold.items];
  fold.title ??= older.title;
}

/** An item that is told elsewhere: it goes, and what pointed at it points there. */
function replace(fold: Fold, gone: Item, by: Item): void {
  fold.items = fold.items.filter((item) => item !== gone);
  fold.replaced.set(gone, by);
}

function joinTools(fold: Fold, older: Fold): void {
  // Whether the turn that the older page ends in has not ended in the newer one.
  const goesOn = !fold.begun && !fold.stops.size;
  for (const [id, before] of older.tools) {
    const here = fold.tools.get(id);
    if (!here) {
      fold.tools.set(id, before);
      before.stopped = !(goesOn && fold.turn && older.running.has(before));
      if (goesOn && older.running.has(before)) fold.follow(before);
      continue;
    }
    if (!here.stub) continue;
    before.call = { ...before.call, ...here.call };
    for (const [name, text] of here.output) before.output.set(name, text);
    for (const [name, text] of here.exit) before.exit.set(name, text);
    before.stopped = here.stopped;
    fold.follow(before);
    fold.touch(before);
    replace(fold, here, before);
    fold.tools.set(id, before);
  }
}

/** A message that the pages were cut through. The newer item stays, because it may still be growing. */
function joinSpeech(fold: Fold, older: Fold): void {
  const last = older.items.at(-1);
  const first = fold.items[0];
  if (!last || !first || !("parts" in last) || !("parts" in first) || last.kind !== first.kind) return;
  const echo = last.kind === "user" && last.key === undefined && first.key !== undefined;
  const same = last.messageId === `prompt-${first.key}` || textOf(last.parts) === textOf(first.parts);
  if (echo ? !same : last.messageId !== first.messageId || first.key !== undefined) return;
  replace(older, last, first);
  replace(fold, last, first);
  if (echo) return;
  const parts = first.parts;
  first.parts = last.parts;
  for (const part of parts) add(first, "text" in part ? { type: "text", text: part.text } : part.block);
  first.key ??= last.key;
  first.cursor = last.cursor;
  first.time = last.time;
  fold.touch(first);
}

/** Updates of one unknown kind that the pages were cut through. */
function joinUnknown(fold: Fold, older: Fold): void {
  const last = older.items.at(-1);
  const first = fold.items[0];
  if (last?.kind !== "note" || first?.kind !== "note" || !last.unknown || last.unknown.kind !== first.unknown?.kind) return;
  first.unknown.count += last.unknown.count;
  first.cursor = last.cursor;
  first.time = last.time;
  nameUnknown(first);
  fold.touch(first);
  replace(older, last, first);
  replace(fold, last, first);
}

/** A subagent's line stands where it was announced, and says what became of it since. */
function joinSubagents(fold: Fold, older: Fold): void {
  for (const [id, before] of older.subagents) {
    const here = fold.subagents.get(id);
    fold.subagents.set(id, before);
    if (!here) continue;
    const { title, state, stopReason } = here.subagent!;
    Object.assign(before.subagent!, title && { title }, state && { state, stopReason });
    nameSubagent(before);
    fold.touch(before);
    replace(fold, here, before);
  }
  for (const [id, before] of older.messages) {
    const here = fold.messages.get(id);
    fold.messages.set(id, before);
    if (!here) continue;
    before.text += here.text;
    fold.touch(before);
    replace(fold, here, before);
  }
  for (const message of fold.messages.values()) nameMessage(message, fold.subagents);
}

function joinPlan(fold: Fold, older: Fold): void {
  const { plan } = older;
  const here = fold.inherited;
  if (plan && here && !plan.entries.every((entry) => entry.status === "completed")) {
    plan.entries = here.entries;
    fold.touch(plan);
    replace(fold, here, plan);
    if (fold.plan === here) fold.plan = plan;
  }
  if (!fold.begun) fold.plan ??= plan;
  fold.inherited = older.inherited ?? (older.begun || plan ? null : here);
  fold.begun ||= older.begun;
}

function joinQuestions(fold: Fold, older: Fold): void {
  for (const [name, how] of older.settledBefore) fold.settledBefore.set(name, how);
  for (const [name, question] of older.questions) {
    const here = fold.questions.get(name);
    fold.questions.set(name, question);
    if (!here) {
      if (question.outcome === undefined || fold.settledBefore.has(name)) fold.settle(name, fold.settledBefore.get(name) ?? {});
      continue;
    }
    // The snapshot knew of it first; its place is where it was asked.
    replace(fold, here, question);
    Object.assign(question, { outcome: here.outcome, by: here.by, result: here.result });
    fold.touch(question);
    if (fold.open.has(name)) fold.open.set(name, question);
  }
}
