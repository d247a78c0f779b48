// A relay of the TypeScript SDK: its own message stream on both sides, piped into each other.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "../../ts/sdk.mjs";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const toAgent = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const toClient = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));

toClient.readable.pipeTo(toAgent.writable).catch(() => {});
await toAgent.readable.pipeTo(toClient.writable);
process.exit();
