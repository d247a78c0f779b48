/**
 * The way of the view to the hub: sockets that the host opens, because it alone has the token, and frames that pass through. In a
 * folder that is not trusted only what reads passes, and the view is told that it may watch.
 */

import type { HostMessage, ViewMessage } from "../protocol";
import { type HubSocket, Refused } from "../../../packages/hub/web/src/wire/door";

/** Methods that change nothing. Everything else waits for trust, also what a later hub brings. */
const READING = new Set([
  "initialize", "_dragoman/hub/watch", "_dragoman/hub/sessions", "_dragoman/hub/inbox", "_dragoman/hub/attach", "_dragoman/hub/detach",
  "_dragoman/hub/history", "_dragoman/hub/turns", "_dragoman/hub/search", "_dragoman/hub/progress", "_dragoman/hub/agents", "_dragoman/hub/files", "_dragoman/hub/file",
  "_dragoman/hub/terminal", "_dragoman/hub/changes",
]);
/** What the view has not taken yet; a view that is so far behind connects anew and resumes. */
const MOST_WAITING = 64_000_000;

interface PipeOptions {
  open(): Promise<HubSocket>;
  send(message: HostMessage): void;
  isTrusted(): boolean;
}

interface OpenSocket {
  hub: HubSocket;
  waiting: number;
  /** The `initialize` whose answer says what may be done. */
  greeting: unknown;
}

export class ViewPipe {
  private sockets = new Map<number, OpenSocket>();
  /** Sockets that are being opened; false for one that nobody waits for any more. */
  private opening = new Map<number, boolean>();

  constructor(private options: PipeOptions) {}

  receive(message: ViewMessage): void {
    if (message.kind === "open") return void this.open(message.socket);
    if (!("socket" in message)) return;
    const socket = this.sockets.get(message.socket);
    if (message.kind === "close") this.drop(message.socket);
    else if (socket && message.kind === "taken") socket.waiting -= message.size;
    else if (socket && message.kind === "frame") this.forward(message.socket, socket, message.text);
  }

  private async open(id: number): Promise<void> {
    this.opening.set(id, true);
    try {
      const hub = await this.options.open();
      if (!this.opening.get(id)) return hub.close();
      this.sockets.set(id, { hub, waiting: 0, greeting: undefined });
      hub.onopen = () => this.options.send({ kind: "opened", socket: id });
      hub.onmessage = ({ data }) => this.take(id, data);
      hub.onclose = ({ reason }) => this.end(id, reason || "the connection was lost");
    } catch (error) {
      const isRefused = error instanceof Refused;
      const reason = isRefused ? error.message : "can't reach the hub";
      this.options.send({ kind: isRefused ? "refused" : "closed", socket: id, reason });
    } finally {
      this.opening.delete(id);
    }
  }

  private take(id: number, data: unknown): void {
    const socket = this.sockets.get(id);
    if (!socket || typeof data !== "string") return;
    socket.waiting += data.length;
    if (socket.waiting > MOST_WAITING) {
      socket.hub.close();
      return this.end(id, "the view was too slow to show all messages");
    }
    const text = socket.greeting === undefined || this.options.isTrusted() ? data : withoutScopes(socket, data);
    this.options.send({ kind: "frame", socket: id, text });
  }

  private forward(id: number, socket: OpenSocket, text: string): void {
    if (!this.options.isTrusted()) {
      const { id: request, method, result } = JSON.parse(text) as { id?: unknown; method?: string; result?: unknown };
      if (result !== undefined) return; // an answer to an agent
      if (method === "initialize") socket.greeting = request;
      if (method !== undefined && !READING.has(method)) return this.refuse(id, request);
    }
    socket.hub.send(text);
  }

  private refuse(socket: number, request: unknown): void {
    if (request === undefined) return;
    const error = { code: -32003, message: "You don't trust this folder, so you can only watch. To do more, trust the folder (Workspaces: Manage Workspace Trust)." };
    this.options.send({ kind: "frame", socket, text: JSON.stringify({ jsonrpc: "2.0", id: request, error }) });
  }

  private end(id: number, reason: string): void {
    if (this.sockets.delete(id)) this.options.send({ kind: "closed", socket: id, reason });
  }

  private drop(id: number): void {
    const socket = this.sockets.get(id);
    if (this.opening.has(id)) this.opening.set(id, false);
    this.sockets.delete(id);
    socket?.hub.close();
  }

  dispose(): void {
    for (const id of [...this.sockets.keys(), ...this.opening.keys()]) this.drop(id);
  }
}

/** The answer to `initialize` as one for a token that may watch, so that the page offers nothing else. */
function withoutScopes(socket: OpenSocket, text: string): string {
  const message = JSON.parse(text) as { id?: unknown; result?: { _meta?: { dragoman?: { scopes?: string[] } } } };
  if (message.id !== socket.greeting || !message.result) return text;
  socket.greeting = undefined;
  const hub = message.result._meta?.dragoman ?? {};
  return JSON.stringify({ ...message, result: { ...message.result, _meta: { ...message.result._meta, dragoman: { ...hub, scopes: ["observe"] } } } });
}
