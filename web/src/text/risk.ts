/**
 * What is worth a second look in a command or a path, in words. Not a judgement and no protection: the hub's policy
 * decides; this helps the person who reads. Knows the shapes that go wrong most often, and characters that hide.
 */

import { reveal } from "./reveal";

const SHAPES: [RegExp, string][] = [
  [/\b(curl|wget|fetch)\b[^|;&]*\|\s*(sudo\s+)?(ba|z|da|fi)?sh\b/, "runs what it downloads"],
  [/\b(base64|xxd|openssl)\b[^|;&]*\|\s*(sudo\s+)?(ba|z|da)?sh\b/, "runs what it decodes"],
  [/(^|[;&|(]\s*)(sudo|doas|su)\b/, "runs with the rights of an administrator"],
  [/\brm\s+(-\w+\s+)*-\w*([rR]\w*f|f\w*[rR])|\brm\s+(-\w+\s+)*--recursive/, "deletes folders without asking"],
  [/\bgit\s+push\b.*(--force\b|\s-f\b|\s\+\S)/, "rewrites a branch on the server"],
  [/\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+(--\s+)?\.(\s|$))/, "throws away changes that are not committed"],
  [/\b(mkfs|fdisk|parted)\b|\bdd\b.*\bof=/, "writes to a disk directly"],
  [/\bchmod\s+(-\w+\s+)*(0?777|a\+rwx)/, "lets everybody write"],
  [/(^|[\s'"=])~?\/?\S*\.(ssh|aws|gnupg|netrc|kube)\b/, "touches where keys are kept"],
  [/>\s*\/(etc|usr|bin|boot|dev\/sd)/, "writes to the system"],
  [/:\(\)\s*\{.*\}\s*;\s*:/, "starts copies of itself without end"],
  [/\b(npm|pip|uv|cargo|gem)\s+(publish|upload)\b|\btwine\s+upload\b/, "publishes a package"],
];

export function risksIn(command: string): string[] {
  const found = SHAPES.filter(([shape]) => shape.test(command)).map(([, words]) => words);
  if (hides(command)) found.push("has characters in it that cannot be seen");
  return found;
}

/** A file that is about to be written, seen from the session's folder. */
export function risksOfPath(path: string, folder: string): string[] {
  const found: string[] = [];
  const inside = folder.replace(/\/+$/, "");
  const absolute = path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path);
  const leaves = path.split(/[\\/]/).includes("..") || (absolute && inside !== "" && !path.startsWith(`${inside}/`));
  if (leaves) found.push("lies outside of the session's folder");
  if (/(^|\/)\.(git|github|ssh)\/|(^|\/)\.(bashrc|zshrc|profile|netrc)$/.test(path)) found.push("is a file that programs obey");
  if (hides(path)) found.push("has characters in its name that cannot be seen");
  return found;
}

function hides(text: string): boolean {
  return reveal(text, true).some((piece) => typeof piece !== "string");
}
