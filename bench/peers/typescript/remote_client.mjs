// The client of the TypeScript SDK over a WebSocket: starts the agent's server, gives it one order, prints what that cost
// as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { WebSocket, createWebSocketStream } from "../../ts/remote.mjs";
import { app, args, command, converse } from "./client_app.mjs";

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const [port] = await once(child.stdout, "data");
const stream = createWebSocketStream(`ws://127.0.0.1:${Number(port)}/acp`, { WebSocket });
console.log(JSON.stringify(await app.connectWith(stream, converse)));
child.stdin.end();
process.exit(0);
