/** Colours for code, loaded when the first block asks. The highlighter's output is taken as scopes, never as HTML. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { el, shown } from "./dom";

const LANGUAGES = {
  bash, c, cpp, css, diff, go, ini, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

const BY_EXTENSION: Record<string, string> = {
  sh: "bash", bash: "bash", zsh: "bash", c: "c", h: "c", cc: "cpp", cpp: "cpp", hpp: "cpp", css: "css", diff: "diff", patch: "diff", go: "go", ini: "ini", toml: "ini",
  cfg: "ini", java: "java", js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "javascript", json: "json", md: "markdown", py: "python", pyi: "python",
  rs: "rust", sql: "sql", ts: "typescript", tsx: "typescript", html: "xml", xml: "xml", svg: "xml", yml: "yaml", yaml: "yaml",
};

/** The language of a file, by its name; empty if it is none that we know. */
export function languageOf(path: string): string {
  return BY_EXTENSION[/\.(\w+)$/.exec(path)?.[1].toLowerCase() ?? ""] ?? "";
}

/** The text line by line, in the colours of a language. A scope that goes over lines is opened anew in each. */
export function colouredLines(text: string, language: string): Node[] {
  const lines: Node[] = [document.createDocumentFragment()];
  const add = (child: Scope | string, scopes: string[]): void => {
    if (typeof child !== "string") {
      for (const inner of child.children) add(inner, child.scope ? [...scopes, `hl-${child.scope.split(/[.:]/)[0]}`] : scopes);
      return;
    }
    child.split("\n").forEach((part, at) => {
      if (at) lines.push(document.createDocumentFragment());
      if (!part) return;
      const piece = shown(part, "exact");
      lines.at(-1)!.appendChild(scopes.length ? el("span", scopes.join(" "), piece) : piece);
    });
  };
  if (!hljs.getLanguage(language)) add(text, []);
  else {
    const result = hljs.highlight(text, { language, ignoreIllegals: true });
    for (const child of (result as unknown as { _emitter: { rootNode: Scope } })._emitter.rootNode.children) add(child, []);
  }
  return lines;
}

export function colour(code: HTMLElement, text: string, language: string): void {
  if (!hljs.getLanguage(language)) return;
  const result = hljs.highlight(text, { language, ignoreIllegals: true });
  const tree = (result as unknown as { _emitter: { rootNode: Scope } })._emitter.rootNode;
  code.replaceChildren(...tree.children.map(node));
}

function node(child: Scope | string): Node {
  if (typeof child === "string") return shown(child);
  const made = el("span", child.scope ? `hl-${child.scope.split(/[.:]/)[0]}` : "");
  made.append(...child.children.map(node));
  return made;
}
