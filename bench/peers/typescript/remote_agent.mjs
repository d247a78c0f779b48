// The agent of the TypeScript SDK behind a WebSocket. It prints its port, and ends with its standard input.
import { createServer } from "node:http";
import { AcpServer, WebSocketServer, createNodeWebSocketUpgradeHandler } from "../../ts/remote.mjs";
import { app } from "./agent_app.mjs";

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
const server = createServer();
server.on("upgrade", createNodeWebSocketUpgradeHandler(new AcpServer({ agent: app }), sockets));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
