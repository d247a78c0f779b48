/** How a session begins: which agent is offered first, in which folder, what one might say to it, and what the session is called. */

import { shortPath } from "../text/places";
import type { AgentInfo, SessionInfo } from "./types";

/** For trying the page and the hub, not for work. */
const TEST_AGENT = "echo";

/** The default first, as the hub says; the one for testing last. */
export function orderedAgents(agents: AgentInfo[], defaultAgent: string): AgentInfo[] {
  const place = ({ name }: AgentInfo): number => (name === defaultAgent ? 0 : name === TEST_AGENT ? 2 : 1);
  return [...agents].sort((one, other) => place(one) - place(other));
}

/** Folders to begin in, the best first: those that were used last, then where the hub was started, then the user's own. */
export function offeredFolders(remembered: string[], sessions: Iterable<SessionInfo>, hub: { folder: string; home: string }): string[] {
  return [...new Set([...remembered, ...[...sessions].map(({ cwd }) => cwd), hub.folder, hub.home])].filter(Boolean);
}

const SUGGESTIONS: Record<string, string[]> = {
  review: ["Review my uncommitted changes", "Review the last commit", "Review this folder"],
  [TEST_AGENT]: ["Hello", "/plan", "/ask hello.txt"],
  "": ["Explain what this project does", "Find a bug and suggest a fix", "Write a test for code that has none"],
};

/** What one might say first to an agent. */
export function suggestionsFor(agent: string): string[] {
  return SUGGESTIONS[Object.hasOwn(SUGGESTIONS, agent) ? agent : ""];
}

type Named = Pick<SessionInfo, "title" | "agent" | "cwd">;

function folderName({ cwd }: Named): string {
  return cwd?.replace(/[\\/]+$/, "").split(/[\\/]/).pop() || cwd || "";
}

/** The title; of a session that has none yet, its agent and the folder's name. */
export function sessionTitle(session: Named): string {
  return session.title || [session.agent, folderName(session)].filter(Boolean).join(" in ") || "New session";
}

/** What stands below it: what the title does not say. */
export function underTitle(session: Named, home: string): string {
  return session.title ? [session.agent, folderName(session)].filter(Boolean).join(" · ") : shortPath(session.cwd ?? "", { cwd: "", home });
}
