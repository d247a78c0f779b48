/** The command line in what goes into a tool call, as agents write it there, the folder that it runs in, and how a person reads it. */

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

/** A word of a line that a shell does nothing else to than to take its quotes away. */
const WORD = /(?:[\w@%+=:,./-]+|'[^']*'|"[^"$`\\!]*"|\\['"\\ ])+/y;
const QUOTED = /'([^']*)'|"([^"]*)"|\\(.)/g;
const SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|da|z|k)?sh$/;

/**
 * A line that has a shell run a script, taken apart: the script without the quotes around it, and who runs it. Any other
 * line, and one of which it is not certain what its words are, stays as it is.
 */
export function scriptOf(line: string): { shell: string; script: string } {
  const words: string[] = [];
  for (let at = 0; at < line.length; at += 1) {
    WORD.lastIndex = at;
    const word = WORD.exec(line)?.[0];
    if (!word || words.length === 3) return { shell: "", script: line };
    words.push(word.replace(QUOTED, (_, single, double, escaped) => single ?? double ?? escaped));
    at += word.length;
    if (at < line.length && line[at] !== " ") return { shell: "", script: line };
  }
  const [program, flag, script] = words;
  if (script === undefined || !SHELL.test(program) || !/^-[lie]*c$/.test(flag)) return { shell: "", script: line };
  return { shell: `${program} ${flag}`, script };
}

/** How agents say in front of a command that it is one. */
const ANNOUNCED = /^(?:run|running|execute|executing|bash|shell|terminal)(?::| ) ?/i;

/** Whether a title is the command and nothing else, so that who reads the command has read the title. */
export function isCommand(title: string, command: string): boolean {
  const titles = [title, title.replace(ANNOUNCED, "")];
  return command !== "" && [command, scriptOf(command).script].some((text) => titles.includes(text) || titles.includes(`\`${text}\``));
}

/** A title in which the command stands as it is read; agents and hubs like to repeat it there. */
export function titleWith(title: string, command: string): string {
  if (!command) return title;
  const { script } = scriptOf(command);
  for (const repeated of [`\`${command}\``, command, `\`${script}\``, script]) {
    const at = title.indexOf(repeated);
    // A short one may be a part of other words.
    if (at < 0 || (repeated.length < 4 && title !== repeated)) continue;
    const quote = repeated.startsWith("`") && repeated !== title ? "`" : "";
    return `${title.slice(0, at)}${quote + script + quote}${title.slice(at + repeated.length)}`.trim();
  }
  return title;
}
