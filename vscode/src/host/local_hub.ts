/**
 * What the program `dragoman` does for us on this machine: it says where its hub is, makes a token, starts a hub, shows a QR
 * code. Nothing is run in a folder that is not trusted, and nothing goes through a shell.
 */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import * as vscode from "vscode";
import { parseAddress, setting } from "./access";

const DEADLINE_MS = 20_000;
const START_MS = 30_000;
const EVERY_MS = 250;

export function program(): string {
  return setting("command", "dragoman") || "dragoman";
}

/** What a command prints. The error says what to do where the program itself is missing. */
function output(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program(), args, { timeout: DEADLINE_MS, maxBuffer: 1_000_000, windowsHide: true }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
      const why = isMissing ? `${program()} was not found. Install Dragoman (pipx install dragoman), or set dragoman.command to its full path.` : stderr.trim() || error.message;
      reject(new Error(why));
    });
  });
}

/** The address that this user's hub has written down; empty if none runs. */
export async function localHub(): Promise<string> {
  const { places } = JSON.parse(await output("where", "--json")) as { places: { name: string; path: string }[] };
  const path = places.find((place) => place.name === "address")?.path;
  if (!path) return "";
  try {
    const about = await stat(path);
    // Whoever is at the address gets our token, so nobody else may have written it.
    if (process.getuid && (about.uid !== process.getuid() || about.mode & 0o022)) return "";
    const { url, pid } = JSON.parse(await readFile(path, "utf8")) as { url: string; pid: number };
    if (process.platform !== "win32") process.kill(pid, 0);
    return parseAddress(url)?.origin ?? "";
  } catch {
    return ""; // no file, no sense in it, or a process that is gone
  }
}

/** A token for this editor, in the store of this user's hub. `dragoman hub token list` shows it. */
export async function makeToken(): Promise<string> {
  const name = `vscode-${randomBytes(3).toString("hex")}`;
  const { token } = JSON.parse(await output("hub", "token", "add", name, "--json")) as { token: unknown };
  if (typeof token !== "string" || !token) throw new Error(`${program()} created no token.`);
  return token;
}

/** The program itself is the terminal's process: no shell is left behind with what it was given. */
function terminal(name: string, args: string[], env: Record<string, string> = {}): vscode.Terminal {
  const made = vscode.window.createTerminal({ name, shellPath: program(), shellArgs: args, env, isTransient: true, iconPath: new vscode.ThemeIcon("comment-discussion") });
  made.show(true);
  return made;
}

/** Starts a hub in a terminal; its address, as soon as it has one. */
export async function startHub(): Promise<string> {
  terminal("Dragoman hub", ["hub"]);
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    const address = await localHub();
    if (address) return address;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  throw new Error("The hub did not start within 30 seconds. Its terminal shows why.");
}

/** A QR code in a terminal; the command waits there until a phone came. */
export function pairPhone(address: string, token: string): void {
  terminal("Dragoman: pair a phone", ["hub", "pair", address], { DRAGOMAN_TOKEN: token });
}
