/** Finding what somebody means by a few letters: the letters in order, close together, at beginnings of words. */

const BORDERS = new Set("/\\_-. :");

/** The items that fit, the best first; all of them in their order when nothing was typed. */
export function fuzzySearch<T>(query: string, items: T[], key: (item: T) => string, most = 50): T[] {
  const letters = query.toLowerCase().replaceAll(" ", "");
  if (!letters) return items.slice(0, most);
  return items
    .map((item, at) => ({ item, at, score: score(letters, key(item).toLowerCase()) }))
    .filter((candidate): candidate is { item: T; at: number; score: number } => candidate.score !== null)
    .sort((one, other) => one.score - other.score || one.at - other.at)
    .slice(0, most)
    .map(({ item }) => item);
}

/** Less is better; null if the letters are not in the text, or so far apart that nobody means it. */
export function score(letters: string, text: string): number | null {
  let best: number | null = null;
  for (let start = text.indexOf(letters[0]); start >= 0; start = text.indexOf(letters[0], start + 1)) {
    const end = endOf(letters, text, start);
    if (end < 0) break;
    const gaps = end - start - letters.length;
    if (gaps > 3 * letters.length) continue;
    const atBorder = start === 0 || BORDERS.has(text[start - 1]);
    const now = gaps * 2 + (atBorder ? 0 : 3) + text.length / 100;
    if (best === null || now < best) best = now;
  }
  return best;
}

function endOf(letters: string, text: string, start: number): number {
  let at = start;
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1;
    if (!at) return -1;
  }
  return at;
}
