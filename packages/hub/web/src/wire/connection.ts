/**
 * The way to the hub: opens a socket at a door, and opens it again with growing pauses when it
 * breaks. Says in one word how things are. What is to be said on a new connection is the owner's: `opened` is called
 * each time, and the connection counts as live when that is done.
 */

import type { Message } from "../model/types";
import { type Door, type HubSocket, Refused, SILENCE } from "./door";
import { Rpc } from "./rpc";

export type Health = "connecting" | "live" | "offline" | "refused";

const PAUSES = [0.3, 0.6, 1.2, 2.5, 5, 10, 20];
const PULSE = 25_000;

export interface Owner {
  opened(rpc: Rpc): Promise<void>;
  heard(message: Message): void;
  fared(health: Health, detail: { why: string; retryAt: number }): void;
}

export class Connection {
  health: Health = "connecting";
  rpc = new Rpc(
    () => {},
    () => {},
  );
  private socket: HubSocket | null = null;
  private failures = 0;
  private attempt = 0;
  private timer = 0;
  private pulse = 0;
  private stopped = true;

  constructor(
    private door: Door,
    private owner: Owner,
  ) {
    this.rpc.end();
  }

  get needsToken(): boolean {
    return this.door.needsToken === true;
  }

  start(): void {
    this.stopped = false;
    window.addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
    void this.open();
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
    this.drop();
  }

  /** Somebody looks at the page again, or the network is back: no need to wait for the pause to end. */
  hurry = (): void => {
    if (document.visibilityState === "hidden" || this.stopped) return;
    if (this.health === "offline") void this.open();
    else if (this.health === "live") void this.probe();
  };

  private async open(): Promise<void> {
    window.clearTimeout(this.timer);
    this.drop();
    const mine = ++this.attempt;
    this.set("connecting", "");
    try {
      const socket = await this.door.open();
      if (this.stopped || mine !== this.attempt) return socket.close();
      await this.connect(socket);
      if (this.stopped || mine !== this.attempt) return;
      this.failures = 0;
      this.set("live", "");
      this.beat();
    } catch (error) {
      if (mine !== this.attempt) return;
      if (error instanceof Refused) return this.set("refused", error.message);
      // What browsers say of a fetch that reached nobody differs, and helps nobody.
      const unreached = error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError");
      this.broken(unreached ? "the hub cannot be reached" : error instanceof Error ? error.message : String(error));
    }
  }

  private connect(socket: HubSocket): Promise<void> {
    this.socket = socket;
    const rpc = new Rpc((text) => socket.send(text), (message) => this.owner.heard(message));
    this.rpc = rpc;
    return new Promise((resolve, reject) => {
      let late = window.setTimeout(() => socket.close(), SILENCE);
      socket.onopen = () => {
        this.owner.opened(rpc).then(resolve, reject);
      };
      socket.onmessage = (event) => {
        if (late) window.clearTimeout(late);
        late = 0; // asking the browser to forget it takes longer than reading a message
        if (typeof event.data !== "string") return;
        for (const line of event.data.split("\n")) rpc.receive(line);
      };
      socket.onclose = (event) => {
        window.clearTimeout(late);
        rpc.end();
        reject(new Error(event.reason || "the connection was closed"));
        if (this.socket === socket) this.broken(event.reason || "the connection was lost");
      };
    });
  }

  private broken(why: string): void {
    if (this.stopped || this.health === "refused" || this.health === "offline") return;
    this.drop();
    const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)] * (0.8 + Math.random() * 0.4) * 1000;
    this.failures += 1;
    this.set("offline", why, Date.now() + pause);
    this.timer = window.setTimeout(() => void this.open(), pause);
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    window.clearTimeout(this.timer);
    window.clearInterval(this.pulse);
    this.rpc.end();
    socket?.close();
  }

  private beat(): void {
    this.pulse = window.setInterval(() => void this.probe(), PULSE);
  }

  /** A browser shows no pings: a small question tells whether anybody is there. */
  private async probe(): Promise<void> {
    const { rpc, socket } = this;
    const late = window.setTimeout(() => {
      if (this.socket === socket) this.broken("the hub does not answer");
    }, SILENCE);
    await rpc.call("_dragoman/hub/inbox", {}).catch(() => null);
    window.clearTimeout(late);
  }

  private set(health: Health, why: string, retryAt = 0): void {
    this.health = health;
    this.owner.fared(health, { why, retryAt });
  }
}
