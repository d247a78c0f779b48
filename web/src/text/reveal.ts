/**
 * Characters that change what a person sees without being seen: control characters, bidirectional overrides,
 * zero-width ones. Text from an agent is cut into plain pieces and marks, so that whoever draws it can show each
 * mark as what it is. Knows nothing of a document.
 */

export interface Mark {
  label: string;
  name: string;
}
export type Piece = string | Mark;

const C0 = (
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
  "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
).split(" ");

const NAMES: Record<number, string> = {
  0xad: "soft hyphen",
  0x61c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0xfeff: "byte order mark",
};

const HIDDEN =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f" +
  "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e007f}";
/** In prose, joiners belong to scripts and emoji; in a command or a diff nothing may hide. */
const IN_PROSE = new RegExp(`[${HIDDEN}]`, "gu");
const IN_CODE = new RegExp(`[${HIDDEN}\\u200c\\u200d\\ufe00-\\ufe0e]`, "gu");

export function markOf(character: string): Mark {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return { label: C0[code], name: `control character ${C0[code]}` };
  const label = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return { label, name: NAMES[code] ?? "invisible character" };
}

/** `strict` is for commands, code, paths and diffs. Line ends of Windows are line ends, not marks. */
export function reveal(text: string, strict = false): Piece[] {
  const seen = text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
  const pattern = strict ? IN_CODE : IN_PROSE;
  pattern.lastIndex = 0;
  const pieces: Piece[] = [];
  let from = 0;
  for (let found = pattern.exec(seen); found; found = pattern.exec(seen)) {
    if (found.index > from) pieces.push(seen.slice(from, found.index));
    pieces.push(markOf(found[0]));
    from = pattern.lastIndex;
  }
  if (from < seen.length) pieces.push(seen.slice(from));
  return pieces;
}

/** One text, for titles of windows and notifications, where there are no elements. */
export function plain(text: string): string {
  return reveal(text, true)
    .map((piece) => (typeof piece === "string" ? piece : `[${piece.label}]`))
    .join("");
}
