/**
 * Which hub, and with which token. The address is a setting; tokens are in the secret storage of VS Code, one for each
 * address, so that no other hub is ever shown the token of this one.
 */

import * as vscode from "vscode";

const SECTION = "dragoman";

export function setting<T>(name: string, otherwise: T): T {
  return vscode.workspace.getConfiguration(SECTION).get<T>(name) ?? otherwise;
}

/**
 * The origin of a hub, however its address was written: `ws://host:8765/acp`, `host:8765`, the link of a page with its token
 * behind the `#`. Null if it is no address.
 */
export function parseAddress(text: string): { origin: string; token: string } | null {
  const trimmed = text.trim();
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  try {
    const url = new URL(whole.replace(/^ws/i, "http"));
    if (!/^https?:$/.test(url.protocol) || !url.host || url.username || url.password) return null;
    const token = /^#token=(.+)$/.exec(url.hash);
    return { origin: `${url.origin}/`, token: token ? decodeURIComponent(token[1]) : "" };
  } catch {
    return null;
  }
}

/** Whether a token would be read by nobody on the way. */
export function isSafe(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

export class HubAccess {
  constructor(private secrets: vscode.SecretStorage) {}

  get origin(): string {
    return parseAddress(setting("hub.address", ""))?.origin ?? "";
  }

  async token(origin = this.origin): Promise<string> {
    return (await this.secrets.get(key(origin))) ?? "";
  }

  async store(origin: string, token: string): Promise<void> {
    await this.secrets.store(key(origin), token);
    if (origin === this.origin) return;
    await vscode.workspace.getConfiguration(SECTION).update("hub.address", origin, vscode.ConfigurationTarget.Global);
  }

  async forget(): Promise<void> {
    await this.secrets.delete(key(this.origin));
  }
}

function key(origin: string): string {
  return `token ${origin}`;
}
