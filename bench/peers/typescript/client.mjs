// The client of the TypeScript SDK: starts the agent, gives it one order, prints what that cost as JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "../../ts/sdk.mjs";
import { app, args, command, converse } from "./client_app.mjs";

const LIMIT = 512 * 1024 * 1024; // the default of 32 MB would refuse large messages

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout), { maxMessageBytes: LIMIT });
console.log(JSON.stringify(await app.connectWith(stream, converse)));
child.kill();
