/**
 * The hubs of the page: the one that served it, and others that the person has added. Each has a model of its own, with its own
 * connection and its own token, so that what one hub says is never taken for a word of another. Sessions of other
 * hubs are named by their hub too (`identityOf`): a hub cannot pass a session off as one of another.
 */

import type { App } from "./app";
import { recallJson, remember, uniqueName } from "./memory";
import { moment } from "./time";
import type { Asked, OtherHub, SessionInfo } from "./types";

const STORED = "hubs";

/** Tells a session from all others of all hubs. */
export function identityOf({ hub, sessionId }: { hub?: string; sessionId: string }): string {
  return hub ? `${hub}/${sessionId}` : sessionId;
}

/** The address of a session, or of something in it: a message, or a session beside it. */
export function sessionHash(hub: string, sessionId: string, part = ""): string {
  return `#${hub ? `/h/${hub}` : ""}/s/${encodeURIComponent(sessionId)}${part ? `/${encodeURIComponent(part)}` : ""}`;
}

/** What a hub is called when nobody has named it: the first part of its name, or its whole address. */
export function shortName(host: string): string {
  return /^[\d.:[\]a-f]+$/i.test(host) || /^localhost/.test(host) ? host : host.split(".")[0];
}

/** The address of a hub, and the pairing code or the token that came with it. Null for what is no address. */
export function parseHubLink(text: string): { address: string; code: string; token: string } | null {
  const link = parseUrl(text.trim());
  if (!link || !/^https?:$/.test(link.protocol)) return null;
  const [, kind, value] = /^#(pair|token)=(.+)$/.exec(link.hash) ?? [];
  return { address: link.origin, code: kind === "pair" ? value : "", token: kind === "token" ? decodeURIComponent(value) : "" };
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

export class Hubs {
  private others = new Map<string, App>();

  constructor(readonly home: App, private make: (hub: OtherHub) => App) {
    home.onSignOut = () => this.stop();
  }

  /** Opens what is stored; another tab may change that. */
  start(): void {
    window.addEventListener("storage", (event) => event.key === `dragoman.${STORED}` && this.read());
    this.read();
  }

  private read(): void {
    const stored = recallJson<OtherHub[]>(STORED, []);
    const isStored = (app: App): boolean => stored.some(({ key, token }) => key === app.key && token === app.token);
    for (const app of [...this.others.values()].filter((app) => !isStored(app))) this.close(app);
    for (const hub of stored.filter(({ key }) => !this.others.has(key))) this.open(hub);
    this.home.changed();
  }

  private open(hub: OtherHub): void {
    const app = this.make(hub);
    this.others.set(hub.key, app);
    app.start();
  }

  private close(app: App): void {
    this.others.delete(app.key);
    app.connection.stop();
  }

  private stop(): void {
    for (const app of [...this.others.values()]) this.close(app);
  }

  /** The same address again is the same hub with another token. */
  add(address: string, token: string, name: string): void {
    const stored = recallJson<OtherHub[]>(STORED, []);
    const key = stored.find((hub) => hub.address === address)?.key ?? uniqueName().slice(0, 8);
    const hub = { key, address, token, name: name || shortName(new URL(address).host) };
    remember(STORED, JSON.stringify([...stored.filter((other) => other.key !== key), hub]));
    this.read();
  }

  /** Forgets its token with it. What was written for it and not sent is dropped. */
  remove(key: string): void {
    const left = recallJson<OtherHub[]>(STORED, []).filter((hub) => hub.key !== key);
    remember(STORED, left.length ? JSON.stringify(left) : "");
    this.others.get(key)?.forget();
    this.read();
  }

  all(): App[] {
    return [this.home, ...this.others.values()];
  }

  get hasOthers(): boolean {
    return this.others.size > 0;
  }

  get(key: string): App | undefined {
    return key ? this.others.get(key) : this.home;
  }

  /** Whose session it is, and what its hub calls it. */
  find(identity: string): [App, string] {
    const [key, ...rest] = identity.split("/");
    const other = this.others.get(key);
    return other && rest.length ? [other, rest.join("/")] : [this.home, identity];
  }

  sessions(): SessionInfo[] {
    return this.all().flatMap((app) => [...app.sessions.values()]);
  }

  /** What waits for the person, with its names, at all hubs: what waits longest is first. */
  inbox(): Map<string, Asked> {
    if (!this.hasOthers) return this.home.inbox;
    const since = ([, asked]: [string, Asked]): number => moment(asked.askedAt) ?? 0;
    return new Map(this.all().flatMap((app) => [...app.inbox]).sort((one, other) => since(one) - since(other)));
  }

  /** What the hub of a session is called; nothing while there is only one. */
  nameOf(hub: string | undefined): string {
    if (!this.hasOthers) return "";
    return this.get(hub ?? "")?.hub?.name ?? shortName(location.host);
  }
}
