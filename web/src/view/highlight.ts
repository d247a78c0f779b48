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
