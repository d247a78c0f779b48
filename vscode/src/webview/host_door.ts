/** Sockets to the hub that the extension host holds: what is sent here goes there as messages, and comes back likewise. */

import { type Door, type HubSocket, Refused } from "../../../packages/hub/web/src/wire/door";
import type { HostMessage, ViewMessage } from "../protocol";

/** The host is told how much was taken in steps of so many characters. */
const STEP = 64_000;

class HostSocket implements HubSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  private taken = 0;

  constructor(
    readonly id: number,
    private post: (message: ViewMessage) => void,
    private forget: () => void,
  ) {}

  send(text: string): void {
    this.post({ kind: "frame", socket: this.id, text });
  }

  close(): void {
    this.post({ kind: "close", socket: this.id });
    this.end("closed here");
  }

  take(text: string): void {
    this.taken += text.length;
    if (this.taken >= STEP) {
      this.post({ kind: "taken", socket: this.id, size: this.taken });
      this.taken = 0;
    }
    this.onmessage?.({ data: text });
  }

  end(reason: string): void {
    this.forget();
    this.onclose?.({ reason });
    this.onclose = null;
  }
}

interface Opening {
  resolve(socket: HubSocket): void;
  reject(error: Error): void;
}

export class HostDoor implements Door {
  private opening = new Map<number, Opening>();
  private sockets = new Map<number, HostSocket>();
  private next = 0;

  constructor(private post: (message: ViewMessage) => void) {}

  open(): Promise<HubSocket> {
    const socket = this.next++;
    return new Promise((resolve, reject) => {
      this.opening.set(socket, { resolve, reject });
      this.post({ kind: "open", socket });
    });
  }

  receive(message: HostMessage): void {
    if (!("socket" in message)) return;
    const opening = this.opening.get(message.socket);
    const socket = this.sockets.get(message.socket);
    this.opening.delete(message.socket);
    if (message.kind === "frame") socket?.take(message.text);
    else if (message.kind === "opened" && opening) this.opened(message.socket, opening);
    else if (message.kind === "refused") opening?.reject(new Refused(message.reason));
    else if (message.kind === "closed") {
      opening?.reject(new Error(message.reason));
      socket?.end(message.reason);
    }
  }

  private opened(id: number, opening: Opening): void {
    const socket = new HostSocket(id, this.post, () => this.sockets.delete(id));
    this.sockets.set(id, socket);
    opening.resolve(socket);
    window.setTimeout(() => socket.onopen?.()); // its owner has to take it first
  }

  closeAll(reason: string): void {
    for (const opening of this.opening.values()) opening.reject(new Error(reason));
    this.opening.clear();
    for (const socket of [...this.sockets.values()]) socket.end(reason);
  }
}
