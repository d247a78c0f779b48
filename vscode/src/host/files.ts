/** Files that agents name, opened in an editor where they are on this machine. */

import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";

/** The file that is meant; null for a path that leads to another machine. */
export function locate(path: string, cwd: string): vscode.Uri | null {
  const whole = isAbsolute(path) ? path : join(cwd, path);
  // `\\host\share`: looking at it would send this person's name to whoever is there.
  if (/^[\\/]{2}/.test(whole) || !isAbsolute(whole)) return null;
  return vscode.Uri.file(whole);
}

/** The text of a file; null if there is none on this machine. */
export async function readText(path: string, cwd: string): Promise<{ uri: vscode.Uri; text: string } | null> {
  const uri = locate(path, cwd);
  if (!uri) return null;
  try {
    return { uri, text: new TextDecoder("utf-8", { fatal: true }).decode(await vscode.workspace.fs.readFile(uri)) };
  } catch {
    return null; // not there, not ours to read, or not a text
  }
}

/** Opens a file at a line, which counts from 1. False if it is not on this machine. */
export async function openFile(path: string, line: number, cwd: string): Promise<boolean> {
  const uri = locate(path, cwd);
  if (!uri) return false;
  try {
    const { type } = await vscode.workspace.fs.stat(uri);
    if (!(type & vscode.FileType.File)) return false;
    const row = Math.max(0, line - 1);
    await vscode.window.showTextDocument(uri, { preview: true, ...(line ? { selection: new vscode.Range(row, 0, row, 0) } : {}) });
    return true;
  } catch {
    return false;
  }
}
