/** Keys of the page, as the list on `?` tells them. Nothing is taken from somebody who writes. */

import type { App } from "./model/app";
import type { Composer } from "./view/composer";

export interface Reach {
  app: App;
  composer: Composer;
  search(): void;
  start(): void;
  changes(): void;
  help(): void;
  go(hash: string): void;
  toEnd(): void;
  toStart(): void;
}

export function listenToKeys(reach: Reach): void {
  const plainKeys: Record<string, () => void> = {
    "?": reach.help,
    "/": reach.search,
    n: reach.start,
    i: () => reach.go("#/"),
    j: () => step(reach, 1),
    k: () => step(reach, -1),
    m: () => reach.composer.field.focus(),
    a: () => document.querySelector<HTMLElement>(".card")?.focus(),
    c: reach.changes,
    Home: reach.toStart,
    End: reach.toEnd,
  };
  document.addEventListener("keydown", (event) => {
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key === ".") return act(event, () => reach.composer.cancel());
    if (control && event.key.toLowerCase() === "k") return act(event, reach.search);
    if (control || event.altKey || writes(event.target) || document.querySelector("dialog[open], .menu")) return;
    const card = (document.activeElement as HTMLElement | null)?.closest?.(".card");
    if (card && /^[1-9]$/.test(event.key)) {
      const choice = card.querySelectorAll<HTMLButtonElement>(".card-actions .choice")[Number(event.key) - 1];
      if (choice) return act(event, () => choice.click());
    }
    const meant = plainKeys[event.key];
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

function step(reach: Reach, by: number): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("a.session")];
  const at = links.findIndex((link) => link.getAttribute("aria-current") === "page");
  const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))];
  if (next) reach.go(next.getAttribute("href")!);
}
