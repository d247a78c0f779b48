/** Places in files, as agents write them: `src/a.py:12`, `src/a.py:12:5`, `a.py#L12`, `file:///home/ann/a.py`. */

export interface FilePlace {
  path: string;
  line: number;
}

const LINE = /^(.+?)(?:#L(\d+)(?:-L?\d+)?|:(\d+)(?:[:-]\d+)*)?$/;
const SCHEME = /^[a-z][a-z0-9+.-]+:(?!\d)/i;

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
