/**
 * As much of the module `vscode` as the extension uses, for tests without an editor. Nothing is answered by itself: a test says what
 * a person would choose (`person`), and looks at what was shown (`shown`).
 */

import { readFile, stat, writeFile } from "node:fs/promises";
import { isAbsolute } from "node:path";

type Listener<T> = (value: T) => void;

export class Disposable {
  constructor(private act: () => void = () => {}) {}
  dispose(): void {
    this.act();
  }
}

export class EventEmitter<T> {
  private listeners = new Set<Listener<T>>();
  event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(readonly scheme: string, readonly path: string, readonly query = "") {}
  static file(path: string): Uri {
    return new Uri("file", path);
  }
  static from({ scheme, path, query = "" }: { scheme: string; path: string; query?: string }): Uri {
    return new Uri(scheme, path, query);
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, [base.path.replace(/\/$/, ""), ...parts].join("/"));
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${encodeURI(this.path)}${this.query ? `?${this.query}` : ""}`;
  }
}

export class Range {
  readonly start: { line: number; character: number };
  readonly end: { line: number; character: number };
  constructor(line: number, character: number, lastLine: number, lastCharacter: number) {
    this.start = { line, character };
    this.end = { line: lastLine, character: lastCharacter };
  }
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor extends ThemeIcon {}
export class TreeItem {
  constructor(readonly label: string) {}
}
export const FileType = { File: 1, Directory: 2 };
export const StatusBarAlignment = { Left: 1 };
export const ProgressLocation = { Notification: 15 };
export const ConfigurationTarget = { Global: 1 };

interface Item {
  label: string;
}

/** What the person at the editor does next; `undefined` closes whatever is asked. */
export const person = {
  pick: (_items: Item[], _title: string): Item | undefined => undefined,
  type: (_title: string): string | undefined => undefined,
  press: (_words: string, _buttons: string[]): string | undefined => undefined,
};

/** What the editor has shown so far. */
export const shown = {
  messages: [] as string[],
  status: [] as string[],
  documents: [] as { uri: Uri; selection?: Range }[],
  differences: [] as { title: string; pairs: [Uri, Uri][] }[],
  terminals: [] as { name: string; shellPath: string; shellArgs: string[]; env: Record<string, string> }[],
  contexts: new Map<string, unknown>(),
  badge: undefined as { value: number } | undefined,
  bar: { text: "", tooltip: "", command: "" },
  log: [] as string[],
  providers: new Map<string, { resolveWebviewView(view: unknown): Promise<void> }>(),
};

const settings = new Map<string, unknown>();
const configuration = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();
const acts = new Map<string, (...args: any[]) => unknown>();
const contents = new Map<string, { provideTextDocumentContent(uri: Uri): string }>();
const trust = new EventEmitter<void>();

function message(words: string, ...rest: unknown[]): Promise<string | undefined> {
  shown.messages.push(words);
  return Promise.resolve(person.press(words, rest.filter((part) => typeof part === "string") as string[]));
}

function quickPick() {
  const [accept, hide] = [new EventEmitter<void>(), new EventEmitter<void>()];
  const pick = {
    title: "", placeholder: "", ignoreFocusOut: false, items: [] as Item[], selectedItems: [] as Item[],
    onDidAccept: accept.event, onDidHide: hide.event,
    show: () => queueMicrotask(() => {
      const chosen = person.pick(pick.items, pick.title);
      if (!chosen) return;
      pick.selectedItems = [chosen];
      accept.fire();
    }),
    hide: () => hide.fire(),
    dispose: () => {},
  };
  return pick;
}

export const window = {
  activeTextEditor: undefined as unknown,
  createOutputChannel: () => ({ info: (line: string) => shown.log.push(line), error: (line: string) => shown.log.push(line), dispose: () => {} }),
  createTreeView: () => ({ set badge(badge: { value: number } | undefined) { shown.badge = badge; }, dispose: () => {} }),
  createStatusBarItem: () => Object.assign(shown.bar, { show: () => {}, dispose: () => {} }),
  createQuickPick: quickPick,
  createTerminal: (options: (typeof shown.terminals)[0]) => {
    shown.terminals.push(options);
    return { show: () => {} };
  },
  registerWebviewViewProvider: (id: string, provider: { resolveWebviewView(view: unknown): Promise<void> }) => {
    shown.providers.set(id, provider);
    return new Disposable();
  },
  setStatusBarMessage: (words: string) => void shown.status.push(words),
  showInformationMessage: message,
  showWarningMessage: message,
  showErrorMessage: message,
  showInputBox: ({ title }: { title: string }) => Promise.resolve(person.type(title)),
  showQuickPick: async (items: (Item | string)[], { title }: { title: string }) => {
    const chosen = person.pick(items.map((item) => (typeof item === "string" ? { label: item } : item)), title);
    return typeof items[0] === "string" ? chosen?.label : chosen;
  },
  showSaveDialog: () => Promise.resolve(undefined),
  showTextDocument: async (uri: Uri, options: { selection?: Range }) => void shown.documents.push({ uri, selection: options.selection }),
  withProgress: (_options: unknown, work: () => Promise<unknown>) => work(),
};

export const workspace = {
  isTrusted: true,
  workspaceFolders: [] as { uri: Uri }[],
  getConfiguration: (section: string) => ({
    get: (name: string) => settings.get(`${section}.${name}`),
    update: async (name: string, value: unknown) => set(`${section}.${name}`, value),
  }),
  asRelativePath: (uri: Uri) => workspace.workspaceFolders.reduce((path, { uri: folder }) => path.replace(`${folder.path}/`, ""), uri.path),
  registerTextDocumentContentProvider: (scheme: string, provider: { provideTextDocumentContent(uri: Uri): string }) => {
    contents.set(scheme, provider);
    return new Disposable();
  },
  onDidCloseTextDocument: new EventEmitter<unknown>().event,
  onDidGrantWorkspaceTrust: trust.event,
  onDidChangeConfiguration: configuration.event,
  fs: {
    readFile: (uri: Uri) => (isAbsolute(uri.path) ? readFile(uri.path) : Promise.reject(new Error("no path"))),
    writeFile: (uri: Uri, bytes: Uint8Array) => writeFile(uri.path, bytes),
    stat: async (uri: Uri) => ({ type: (await stat(uri.path)).isFile() ? FileType.File : FileType.Directory }),
  },
};

const own: Record<string, (...args: any[]) => unknown> = {
  setContext: (name: string, value: unknown) => shown.contexts.set(name, value),
  "vscode.diff": (before: Uri, after: Uri, title: string) => shown.differences.push({ title, pairs: [[before, after]] }),
  "vscode.changes": (title: string, pairs: [Uri, Uri, Uri][]) => shown.differences.push({ title, pairs: pairs.map(([, before, after]) => [before, after]) }),
};

export const commands = {
  registerCommand: (name: string, act: (...args: any[]) => unknown) => {
    acts.set(name, act);
    return new Disposable(() => acts.delete(name));
  },
  executeCommand: async (name: string, ...args: unknown[]) => (acts.get(name) ?? own[name])?.(...args),
};

/** Sets a setting, as somebody would in the settings' editor. */
export function set(name: string, value: unknown): void {
  settings.set(name, value);
  configuration.fire({ affectsConfiguration: (other) => name.startsWith(other) });
}

export function grantTrust(): void {
  workspace.isTrusted = true;
  trust.fire();
}

export function registered(): string[] {
  return [...acts.keys()];
}

/** The text of an address, as an editor would show it. */
export async function textOf(uri: Uri): Promise<string> {
  return uri.scheme === "file" ? readFile(uri.path, "utf8") : (contents.get(uri.scheme)?.provideTextDocumentContent(uri) ?? "");
}

export function extensionContext(secrets: Map<string, string>, folder: string, version = "0.1.0") {
  return {
    subscriptions: [] as Disposable[],
    extensionUri: Uri.file(folder),
    extension: { packageJSON: { version } },
    secrets: {
      get: async (name: string) => secrets.get(name),
      store: async (name: string, value: string) => void secrets.set(name, value),
      delete: async (name: string) => void secrets.delete(name),
    },
  };
}
