/** Read-only texts that are no files: the side of a difference that is gone, a command that waits. At most so many are kept. */

import * as vscode from "vscode";

export const SCHEME = "dragoman";
const MOST = 400;

export class TextDocuments implements vscode.TextDocumentContentProvider {
  private texts = new Map<string, string>();
  private next = 0;

  /** The address of a text. Its path is that of the file that it belongs to, for the title and the colours. */
  add(path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: path.startsWith("/") ? path : `/${path}`, query: String(this.next++) });
    this.texts.set(uri.toString(), text);
    for (const oldest of this.texts.keys()) {
      if (this.texts.size <= MOST) break;
      this.texts.delete(oldest);
    }
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "This text is no longer available. Open it again from Dragoman.";
  }

  forget(uri: vscode.Uri): void {
    this.texts.delete(uri.toString());
  }
}

/** Shows differences: one in an editor of its own, several in one editor below each other. */
export async function showDifferences(title: string, pairs: { before: vscode.Uri; after: vscode.Uri }[]): Promise<void> {
  if (pairs.length === 1) await vscode.commands.executeCommand("vscode.diff", pairs[0].before, pairs[0].after, title, { preview: true });
  else await vscode.commands.executeCommand("vscode.changes", title, pairs.map(({ before, after }) => [after, before, after]));
}
