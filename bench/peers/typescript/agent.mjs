// The agent of the TypeScript SDK over standard input and output.
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "../../ts/sdk.mjs";
import { app } from "./agent_app.mjs";

const LIMIT = 512 * 1024 * 1024; // the default of 32 MB would refuse the large message

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin), { maxMessageBytes: LIMIT }));
