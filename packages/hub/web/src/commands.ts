/** Everything that the palette offers: acts, views, sessions, agents. What a token may not do is not offered. */

import type { App } from "./model/app";
import { THEMES, chooseTheme } from "./model/appearance";
import { sessionTitle, successors } from "./model/beginning";
import type { Conversation } from "./model/conversation";
import { type Hubs, identityOf } from "./model/hubs";
import { surroundings } from "./surroundings";
import { newSession } from "./view/windows";
import type { PaletteEntry, PaletteOptions } from "./view/palette";

export interface CommandReach {
  /** The hub whose session is open. */
  app: App;
  hubs: Hubs;
  current(): Conversation | null;
  go(hash: string): void;
  openSession(id: string): void;
  openIdentity(identity: string): void;
  search(text?: string): void;
  start(): void;
  split(): void;
  chooseFile(): void;
  changes(): void;
  commit(open: Conversation): void;
  rename(): void;
  help(): void;
  save(open: Conversation): Promise<void>;
  fork(open: Conversation): void;
  handOver(open: Conversation, agent: string): void;
  decide(identity: string): void;
}

const STATES: Record<string, string> = { running: "running", waiting: "waiting for you", idle: "", failed: "failed", closed: "closed", archived: "archived" };

export function commands(reach: CommandReach): PaletteOptions {
  const { app } = reach;
  const entries = [...waiting(reach), ...ofSession(reach), ...views(reach), ...sessions(reach), ...agents(reach)];
  const otherwise = (text: string): PaletteEntry[] => [
    { label: `Search all sessions for “${text}”`, icon: "search", run: () => reach.search(text) },
  ];
  return { title: "Command palette", placeholder: "Find a session, an agent or a command", entries, otherwise: app.may("observe") ? otherwise : undefined };
}

function waiting({ hubs, decide }: CommandReach): PaletteEntry[] {
  return [...hubs.inbox().values()].map((asked) => ({
    label: `Decide: ${asked.params.toolCall?.title ?? asked.params.message ?? "a question"}`,
    detail: [asked.title ?? asked.agent ?? "", hubs.nameOf(asked.hub)].filter(Boolean).join(" · "),
    icon: "ask",
    run: () => decide(identityOf(asked)),
  }));
}

function ofSession(reach: CommandReach): PaletteEntry[] {
  const open = reach.current();
  if (!open) return [];
  const acts: PaletteEntry[] = [
    { label: "Review changes of the last turn", icon: "edit", keys: "c", run: () => reach.changes() },
    { label: "Open a file of this session", icon: "file", keys: "o", run: reach.chooseFile },
    { label: "Open another session beside this one", icon: "split", keys: "s", run: reach.split },
    { label: "Export this session as HTML", icon: "fetch", run: () => void reach.save(open) },
  ];
  if (reach.app.may("approve")) acts.push({ label: "Commit changes", icon: "edit", run: () => reach.commit(open) });
  if (reach.app.may("prompt")) {
    acts.push({ label: "Rename this session", icon: "edit", run: () => reach.rename() });
    acts.push({ label: "Fork this session", icon: "fork", run: () => reach.fork(open) });
    for (const agent of successors(reach.app, open.info))
      acts.push({ label: `Hand this session over to ${agent.title || agent.name}`, icon: "agents", run: () => reach.handOver(open, agent.name) });
  }
  return acts;
}

function views({ app, hubs, go, search, start, help }: CommandReach): PaletteEntry[] {
  const entries: PaletteEntry[] = [
    { label: "Board", detail: "all sessions by state", icon: "board", keys: "b", run: () => go("#/board") },
    { label: "Inbox", detail: "questions waiting for you", icon: "inbox", keys: "i", run: () => go("#/") },
    { label: "Agents", detail: "status of each agent", icon: "agents", keys: "g", run: () => go("#/agents") },
    { label: "Settings", detail: "notifications, keys", icon: "settings", keys: ",", run: () => go("#/settings") },
    ...(surroundings.isEmbedded ? [] : THEMES).map((theme) => ({ label: `Theme: ${theme}`, icon: "settings", run: () => chooseTheme(theme) })),
    { label: "Search all sessions", icon: "search", keys: "/", run: () => search() },
    { label: "Keyboard shortcuts", icon: "execute", keys: "?", run: help },
  ];
  if (!surroundings.isEmbedded) entries.push({ label: "Sign out", icon: "move", run: () => hubs.home.signOut() });
  if (!surroundings.isEmbedded) entries.push({ label: "Add a hub", detail: "show its sessions here too", icon: "new", run: () => void document.dispatchEvent(new CustomEvent("add-hub")) });
  if (app.may("prompt")) entries.unshift({ label: "New session", icon: "new", keys: "n", run: start });
  return entries;
}

function sessions({ hubs, openIdentity }: CommandReach): PaletteEntry[] {
  return hubs.sessions().map((session) => ({
    label: sessionTitle(session),
    detail: [hubs.nameOf(session.hub), session.agent, session.cwd, STATES[session.state]].filter(Boolean).join(" · "),
    icon: session.state === "waiting" ? "ask" : "read",
    run: () => openIdentity(identityOf(session)),
  }));
}

function agents({ app, openSession }: CommandReach): PaletteEntry[] {
  if (!app.may("prompt")) return [];
  return app.agents.map((agent) => ({
    label: `New session with ${agent.title || agent.name}`,
    detail: agent.description ?? "",
    icon: "new",
    run: () => newSession(app, openSession, agent.name),
  }));
}
