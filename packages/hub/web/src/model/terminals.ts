/**
 * Terminals that the hub lends to agents: what they print is in no update, so it is asked for while they run. One that
 * the hub does not know is a client's own, and is not asked for again.
 */

import { Gone, type Rpc } from "../wire/rpc";
import type { Fold } from "./fold";
import type { Tool } from "./items";

interface Output {
  output: string;
  exitStatus?: { exitCode?: number | null; signal?: string | null } | null;
}

const EVERY_MS = 700;
/** Tool calls that are looked at, from the last one back. */
const MOST = 20;

export class Terminals {
  private timer = 0;
  private unknown = new Set<string>();

  constructor(private sessionId: string, private fold: () => Fold, private changed: () => void) {}

  follow(rpc: Rpc): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(rpc), EVERY_MS);
  }

  private async look(rpc: Rpc): Promise<void> {
    try {
      for (const tool of [...this.fold().tools.values()].slice(-MOST)) {
        for (const part of tool.call.content ?? []) {
          if (part.type === "terminal" && part.terminalId) await this.read(rpc, tool, part.terminalId);
        }
      }
    } catch (error) {
      if (error instanceof Gone) return; // the next connection follows again
    }
    this.follow(rpc);
  }

  private async read(rpc: Rpc, tool: Tool, terminalId: string): Promise<void> {
    if (tool.exit.has(terminalId) || this.unknown.has(terminalId)) return;
    let read: Output;
    try {
      read = await rpc.call<Output>("_dragoman/hub/terminal", { sessionId: this.sessionId, terminalId });
    } catch (error) {
      if (error instanceof Gone) throw error;
      this.unknown.add(terminalId);
      return;
    }
    if (tool.output.get(terminalId) === read.output && !read.exitStatus) return;
    tool.output.set(terminalId, read.output);
    if (read.exitStatus) tool.exit.set(terminalId, ending(read.exitStatus));
    this.fold().touch(tool);
    this.changed();
  }
}

function ending(status: { exitCode?: number | null; signal?: string | null }): string {
  if (status.signal) return `ended by ${status.signal}`;
  return typeof status.exitCode === "number" ? `status ${status.exitCode}` : "ended";
}
