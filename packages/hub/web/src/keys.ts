/** Keys of the page, as the list on `?` tells them. Nothing is taken from somebody who writes. */

import { identityOf } from "./model/hubs";
import type { Asked } from "./model/types";
import type { BoardView } from "./view/board";
import type { Composer } from "./view/composer";

export interface Reach {
  /** What waits for the person, at all hubs. */
  inbox(): Iterable<Asked>;
  say(text: string): void;
  /** Null until somebody has looked at it. */
  board(): BoardView | null;
  composer(): Composer;
  /** The session that is open, as `identityOf` names it. */
  current(): string;
  search(): void;
  palette(): void;
  start(): void;
  split(): void;
  chooseFile(): void;
  changes(): void;
  decide(sessionId: string): void;
  help(): void;
  go(hash: string): void;
  openBeside(id: string): void;
  toEnd(): void;
  toStart(): void;
}

export function listenToKeys(reach: Reach): void {
  const plainKeys: Record<string, () => void> = {
    "?": reach.help,
    "/": () => reach.search(),
    n: reach.start,
    i: () => reach.go("#/"),
    b: () => reach.go("#/board"),
    g: () => reach.go("#/agents"),
    ",": () => reach.go("#/settings"),
    s: reach.split,
    o: reach.chooseFile,
    j: () => step(reach, 1),
    k: () => step(reach, -1),
    m: () => reach.composer().field.focus(),
    a: () => document.querySelector<HTMLElement>(".card")?.focus(),
    A: () => decideCurrent(reach),
    c: () => reach.changes(),
    Home: reach.toStart,
    End: reach.toEnd,
  };
  const boardKeys: Record<string, () => void> = {
    h: () => reach.board()?.move(0, -1),
    l: () => reach.board()?.move(0, 1),
    ArrowLeft: () => reach.board()?.move(0, -1),
    ArrowRight: () => reach.board()?.move(0, 1),
    ArrowDown: () => reach.board()?.move(1, 0),
    ArrowUp: () => reach.board()?.move(-1, 0),
  };
  document.addEventListener("keydown", (event) => {
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key === ".") return act(event, () => reach.composer().cancel());
    if (control && event.key.toLowerCase() === "k") return act(event, reach.palette);
    if (control && event.shiftKey && event.key.toLowerCase() === "f") return act(event, () => reach.search());
    if (control || event.altKey || writes(event.target)) return;
    const card = (document.activeElement as HTMLElement | null)?.closest?.(".card");
    if (card && /^[1-9]$/.test(event.key)) {
      const choice = card.querySelectorAll<HTMLButtonElement>(".card-actions .choice")[Number(event.key) - 1];
      if (choice) return act(event, () => choice.click());
    }
    if (document.querySelector("dialog[open], .menu")) return;
    if (event.key === "Enter" && event.shiftKey && hasBoard()) return act(event, () => reach.openBeside(reach.board()?.current ?? ""));
    const meant = plainKeys[event.key] ?? (hasBoard() ? boardKeys[event.key] : undefined);
    if (meant) act(event, meant);
  });
}

function act(event: Event, meant: () => void): void {
  event.preventDefault();
  meant();
}

function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function hasBoard(): boolean {
  return document.querySelector(".board") !== null;
}

/** What is asked by the session that is chosen, or open, or has waited longest. */
function decideCurrent({ inbox, say, board, current, decide }: Reach): void {
  const chosen = hasBoard() ? board()?.current : current();
  const asking = new Set([...inbox()].map(identityOf));
  const id = chosen && asking.has(chosen) ? chosen : [...asking][0];
  if (id) decide(id);
  else say("Nothing is waiting for you.");
}

function step(reach: Reach, by: number): void {
  if (hasBoard()) return void reach.board()?.move(by, 0);
  const links = [...document.querySelectorAll<HTMLAnchorElement>("a.session")];
  const at = links.findIndex((link) => link.getAttribute("aria-current") === "page");
  const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))];
  if (next) reach.go(next.getAttribute("href")!);
}
