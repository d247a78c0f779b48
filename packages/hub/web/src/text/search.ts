/**
 * The words of a search, found again in a text by the rules of the hub's index: each word from its beginning, without
 * case and accents, and character by character in scripts without spaces. Also makes an excerpt of markdown readable.
 */

import { type Inline, parseInline } from "./inline";

export interface TextSpan {
  from: number;
  to: number;
}

interface Word extends TextSpan {
  folded: string;
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED = /[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+/gu;
/** Words on either side of a match that are compared with an excerpt. */
const CONTEXT = 5;

/** Where the words of a query stand in a text. */
export function findWords(text: string, query: string): TextSpan[] {
  const terms = wordsOf(query);
  return wordsOf(text).flatMap((word) => match(word, terms) ?? []);
}

/** The match that is meant: where most words of the query stand together, and among those, as an excerpt shows it. */
export function findExcerpt(text: string, query: string, excerpt: string): TextSpan | null {
  const terms = wordsOf(query);
  const shown = wordsOf(excerpt);
  const centre = shown.findIndex((word) => match(word, terms));
  const words = wordsOf(text);
  let best: TextSpan | null = null;
  let most = -1;
  words.forEach((word, at) => {
    const found = match(word, terms);
    if (!found) return;
    const around = words.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1);
    const together = terms.filter((term) => around.some((near) => match(near, [term]))).length;
    let alike = 0;
    for (let by = -CONTEXT; by <= CONTEXT && centre >= 0; by += 1) {
      if (words[at + by] && words[at + by].folded === shown[centre + by]?.folded) alike += 1;
    }
    const score = together * (2 * CONTEXT + 2) + alike;
    if (score <= most) return;
    most = score;
    best = found;
  });
  return best;
}

function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const run of text.matchAll(WORD)) {
    for (const part of run[0].matchAll(UNSPACED)) {
      const from = run.index + part.index;
      words.push({ from, to: from + part[0].length, folded: fold(part[0]) });
    }
  }
  return words;
}

function fold(word: string): string {
  return word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function match(word: Word, terms: Word[]): TextSpan | null {
  const term = terms.find(({ folded }) => folded && word.folded.startsWith(folded));
  if (!term) return null;
  // Folding may change lengths; then the whole word is what was found.
  const isSameLength = word.folded.length === word.to - word.from;
  return { from: word.from, to: isSameLength ? word.from + term.folded.length : word.to };
}

const FENCE = /(^|\s|…)(?:`{3,}|~{3,})[^\s`]*/g;
const HEADING = /(^|\s|…)#{1,6}(?=\s)/g;
/** Without its line, a bullet can be told from a product by what stands before it. */
const BULLET = /(^|…|[.:;!?]\s)[*+](?=\s)/g;
const TABLE_LINE = /\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?/g;
/** What an excerpt was cut through has only one of its two marks, and of a link only a part. */
const LONE_MARKS = /\*\*|__|~~|`/g;
const LINK_AT_START = /^…([^[\]]*)\]\([^)\s]*\)/;
const LINK_AT_END = /\[([^\]]*)\]\([^)]*…$/;

/** A piece of markdown on one line, as it reads when it is drawn. */
export function plainText(markdown: string): string {
  const whole = markdown.replace(LINK_AT_START, "…$1").replace(LINK_AT_END, "$1…");
  const flat = whole.replace(FENCE, "$1").replace(TABLE_LINE, " ").replace(HEADING, "$1").replace(BULLET, "$1").replaceAll("|", " ");
  return parseInline(flat).map(textOf).join("").replace(/\s+/g, " ").trim();
}

function textOf(inline: Inline): string {
  switch (inline.t) {
    case "text":
      return inline.s.replace(LONE_MARKS, "");
    case "code":
      return inline.s;
    case "br":
      return " ";
    case "image":
      return inline.alt;
    default:
      return inline.c.map(textOf).join("");
  }
}
