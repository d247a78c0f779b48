/** Places in files, as agents write them: `src/a.py:12`, `src/a.py:12:5`, `a.py#L12`, `file:///home/ann/a.py`. */

export interface FilePlace {
  path: string;
  line: number;
}

const LINE = /^(.+?)(?:#L(\d+)(?:-L?\d+)?|:(\d+)(?:[:-]\d+)*)?$/;
const SCHEME = /^[a-z][a-z0-9+.-]+:(?!\d)/i;

/** Paths are shown from a session's folder, and from the home folder of the hub's user. Empty: not known. */
export interface Viewpoint {
  cwd: string;
  home: string;
}

/** `src/a.py` in the session's folder, `~/a.py` in the home folder, anything else as it is. */
export function shortPath(path: string, { cwd, home }: Viewpoint): string {
  const below = (folder: string): string | null => {
    const start = folder.replace(/[\\/]+$/, "");
    return start && path.startsWith(start) && /^[\\/]/.test(path.slice(start.length)) ? path.slice(start.length + 1) : null;
  };
  const inFolder = below(cwd);
  if (inFolder) return inFolder;
  if (home && path === home) return "~";
  const inHome = below(home);
  return inHome ? `~/${inHome}` : path;
}

/** The same for every path that stands in a sentence. */
export function shortenPaths(text: string, viewpoint: Viewpoint): string {
  return text.replace(/(^|[\s`'"(])(\/[^\s`'"()]+)/g, (_, before, path) => before + shortPath(path, viewpoint));
}

/** Files that people and agents name with a line. A word with a dot and a number behind it may be a host and its port. */
const ENDINGS = "pyi?|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|c|cc|cpp|cxx|h|hh|hpp|java|kts?|scala|rb|php|cs|fs|swift|mm?|sh|bash|sql|html?|s?css|less|jsonc?|toml|ya?ml|xml|md|rst|txt|ini|cfg|lua|pl|exs?|erl|hs|mli?|dart|r|jl|zig|proto|tf|gradle|script";
const BARE = new RegExp(`(?<![\\w/\\\\@:.#+~-])(?:[\\w@+~.-]*/)*[\\w+.-]*\\w\\.(?:${ENDINGS}):\\d+(?::\\d+)?(?![\\w/:-])`, "gi");

/** A text, cut where it names lines of files: every second piece is such a name. */
export function cutAtPlaces(text: string): string[] {
  if (!text.includes(":")) return [text];
  const pieces: string[] = [];
  let at = 0;
  for (const found of text.matchAll(BARE)) {
    pieces.push(text.slice(at, found.index), found[0]);
    at = found.index + found[0].length;
  }
  return [...pieces, text.slice(at)];
}

/** Where the hub explains the rule of a finding, if a link leads to the page of rules that the package brings. */
export function ruleOfLink(href: string): string | null {
  const found = /^file:\/\/.*\/review-rules\.md#([\w-]+)$/i.exec(href.trim());
  return found ? `/rules#${found[1]}` : null;
}

/** The place that the address of a link names; null if it leads elsewhere. */
export function placeOfLink(href: string): FilePlace | null {
  let text = href.trim();
  if (/^file:/i.test(text)) {
    // The host is this machine or nobody's.
    const local = /^file:(?:\/\/(?:localhost)?)?(\/[^/].*)$/i.exec(text);
    if (!local) return null;
    text = decoded(local[1]);
  } else if (SCHEME.test(text) || text.startsWith("//") || text.startsWith("#") || text.startsWith("?")) return null;
  else text = decoded(text);
  return placeOf(text);
}

/** The place that a piece of code names, if it names a line of a file and is nothing else. */
export function placeInCode(text: string): FilePlace | null {
  if (!/^[\w@+~./ -]*[\w-]+\.\w{1,12}(?::\d+(?:[:-]\d+)*|#L\d+)$/.test(text) || text.length > 300) return null;
  return placeOf(text);
}

function placeOf(text: string): FilePlace | null {
  const found = LINE.exec(text);
  if (!found || !found[1] || /[\n\0]/.test(text)) return null;
  return { path: found[1], line: Number(found[2] ?? found[3] ?? 0) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that means itself
  }
}
