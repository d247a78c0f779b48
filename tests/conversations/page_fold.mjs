// Folds the messages of sessions as the page does: on standard input {session: [messages]}, and on standard output
// {session: what its items show}.

import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const WEB = join(import.meta.dirname, "../../packages/hub/web");
const { build } = createRequire(join(WEB, "package.json"))("esbuild");
const contents = `export { Fold } from "./src/model/fold"; export { textOf, textOfItem } from "./src/model/items";`;
const built = await build({ bundle: true, format: "esm", write: false, stdin: { contents, resolveDir: WEB, loader: "ts" } });
const code = Buffer.from(built.outputFiles[0].contents).toString("base64");
const { Fold, textOf, textOfItem } = await import(`data:text/javascript;base64,${code}`);

function shown(session, messages) {
  const fold = new Fold(session);
  messages.forEach(({ message, cursor }, at) => fold.apply(message, cursor ?? String(at), at));
  const tools = Object.fromEntries([...fold.tools.values()].map((tool) => [tool.call.title, [tool.call.status, textOfItem(tool).slice(tool.call.title.length).trim()]]));
  const notes = fold.items.filter((item) => item.kind === "note").map((note) => [note.title, note.text]);
  const ends = fold.items.filter((item) => item.kind === "end");
  return { said: fold.items.filter((item) => item.kind === "agent").map((item) => textOf(item.parts)).join(""), tools, notes, end: ends.at(-1) ?? null };
}

const given = JSON.parse(await text(process.stdin));
const answer = Object.entries(given).map(([name, { session, messages }]) => [name, shown(session, messages)]);
console.log(JSON.stringify(Object.fromEntries(answer)));
