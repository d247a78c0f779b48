/** The command line in what goes into a tool call, as agents write it there, and the folder that it runs in. */

export function commandOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const { command, cmd, args } = input as Record<string, unknown>;
  const found = command ?? cmd;
  if (typeof found === "string") {
    return Array.isArray(args) ? [found, ...args.map(quoted)].join(" ") : found;
  }
  return Array.isArray(found) ? found.map(quoted).join(" ") : "";
}

function quoted(word: unknown): string {
  const text = String(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function cwdOf(input: unknown): string {
  const cwd = (input as Record<string, unknown> | null | undefined)?.cwd;
  return typeof cwd === "string" ? cwd : "";
}
