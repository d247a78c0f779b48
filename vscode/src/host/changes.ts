/** What the last turn of a session changed, as differences in editors. */

import * as vscode from "vscode";
import type { FileChange, SessionInfo } from "../../../packages/hub/web/src/model/types";
import { parseUnified } from "../../../packages/hub/web/src/text/diff";
import { type TextDocuments, showDifferences } from "./documents";
import { readText } from "./files";
import type { HubModel } from "./hub";
import { sideOf, textBefore } from "./patch";
import { nameOfSession } from "./sessions";

interface Sides {
  before: vscode.Uri;
  after: vscode.Uri;
}

export async function openChanges(hub: HubModel, documents: TextDocuments, session: SessionInfo): Promise<void> {
  const { files, others, notes } = await hub.changes(session.sessionId);
  const readable = files.filter((file) => file.diff);
  const pairs = await Promise.all(readable.map((file) => sidesOf(documents, file, session.cwd)));
  if (pairs.length) await showDifferences(`Last turn of ${nameOfSession(session)}`, pairs);
  const rest = files.length - readable.length;
  const words = [
    files.length ? "" : "The last turn changed no files.",
    rest ? `${rest} ${rest === 1 ? "file is" : "files are"} not shown: binary, or too large.` : "",
    others.length ? `${others.length} more files changed during the turn, by other programs or people.` : "",
    ...notes,
  ].filter(Boolean);
  if (words.length) void vscode.window.showInformationMessage(words.join(" "));
}

/**
 * The file itself is the side after the change, so that it can be edited there. Where it is not on this machine, or somebody has
 * changed it since, both sides are what the difference shows of them.
 */
async function sidesOf(documents: TextDocuments, file: FileChange, cwd: string): Promise<Sides> {
  const hunks = parseUnified(file.diff ?? "");
  const now = file.kind === "removed" ? null : await readText(file.path, cwd);
  const before = now && textBefore(now.text, hunks);
  if (now && before !== null) return { before: documents.add(file.path, before), after: now.uri };
  return { before: documents.add(file.path, sideOf(hunks, "before")), after: documents.add(file.path, sideOf(hunks, "after")) };
}
