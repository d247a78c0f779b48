// Judges values with the validators of the official TypeScript SDK.
//
// Reads one JSON object a line, {"version": "v1", "def": "PromptRequest", "value": ...}, and prints one verdict a line:
// "ok"       accepted, and what the validator hands on is what it was given, defaults added
// "healed"   accepted, but only because the validator replaced or dropped something
// "refused"  not accepted, with the reason
// "unknown"  the SDK has no validator of that name

import { createInterface } from "node:readline";

const base = new URL("./node_modules/@agentclientprotocol/sdk/dist/", import.meta.url);
const loaded = {};

// Most judge one version, and each takes a while to load.
async function validators(version) {
  loaded[version] ??= await import(new URL(`${version}/unstable/schema/zod.gen.js`, base));
  return loaded[version];
}

function kept(value, handed) {
  if (value === null || typeof value !== "object") return Object.is(value, handed);
  if (handed === null || typeof handed !== "object") return false;
  if (Array.isArray(value) && value.length !== handed.length) return false;
  return Object.keys(value).every((key) => Object.hasOwn(handed, key) && kept(value[key], handed[key]));
}

async function verdict({ version, def, value }) {
  const validator = (await validators(version))[`z${def}`];
  if (!validator) return { verdict: "unknown" };
  const result = validator.safeParse(value);
  if (!result.success) return { verdict: "refused", reason: result.error.message };
  return { verdict: kept(value, result.data) ? "ok" : "healed" };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim()) process.stdout.write(JSON.stringify(await verdict(JSON.parse(line))) + "\n");
}
