/**
 * What the page takes from where it runs. That is a browser's tab, unless somebody has put something else here before
 * `main.ts` is loaded: the extension of VS Code does (`vscode/src/webview`).
 */

import type { TemplateResult } from "lit";
import type { App } from "./model/app";
import type { FilePlace } from "./text/places";
import type { Door } from "./wire/door";

/** What is on the screen, as the part of an address behind its `#`. */
export interface Route {
  hash(): string;
  go(hash: string): void;
  onChange(follow: () => void): void;
}

export interface Surroundings {
  /** How we introduce ourselves to the hub. */
  client: { name: string; title: string; version: string };
  icon: string;
  route: Route;
  /** Whether the page stands in a program that has themes, notifications and a token of its own. */
  isEmbedded: boolean;
  /** The way to the hub; without it, the one with the token of the browser. */
  door?: Door;
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  /** What is shown when the hub refuses us; without it, a form for the token. */
  signIn?(app: App): TemplateResult;
  /** Opens a file; `otherwise` shows it in the page. */
  openFile?(sessionId: string, place: FilePlace, otherwise: () => void): void;
  /** Further entries for the menu of a session. */
  sessionActs?(sessionId: string): [string, () => void][];
  saveFile?(file: Blob, name: string): void;
}

export const surroundings: Surroundings = {
  client: { name: "dragoman-page", title: "Dragoman page", version: "1" },
  icon: "icon.svg",
  isEmbedded: false,
  route: {
    hash: () => location.hash,
    go: (hash) => {
      location.hash = hash;
    },
    onChange: (follow) => window.addEventListener("hashchange", follow),
  },
};
