// What the programs in ../peers/typescript need of the SDK, and of its documentation's choice, to talk over WebSockets.
export { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
export { createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
export { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
export { WebSocket, WebSocketServer } from "ws";
