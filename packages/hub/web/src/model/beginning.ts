/** How a session begins: what one might say to its agent, and what it is called. */

import { shortPath } from "../text/places";
import type { AgentInfo, SessionInfo } from "./types";

const SUGGESTIONS: Record<string, string[]> = {
  review: ["Review my uncommitted changes", "Review the last commit", "Review this folder"],
  echo: ["Hello", "/plan", "/ask hello.txt"],
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

/** Who could go on with a session in the place of its agent. */
export function successors({ agents }: { agents: AgentInfo[] }, session: Named | null): AgentInfo[] {
  return agents.filter((agent) => agent.name !== session?.agent);
}
