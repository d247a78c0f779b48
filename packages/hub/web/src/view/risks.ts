/**
 * Why a card asks and what is risky about it, as the hub says: the rule that asked, and what the reviewer's rules found.
 * Judges nothing itself, and does not believe an agent: only what the hub wrote beside the request counts.
 */

import type { Asked, Risk } from "../model/types";
import { type Viewpoint, shortPath } from "../text/places";
import { el, fileLink, shown } from "./dom";

const SEVERITIES = ["critical", "high", "medium", "low", "info"];

/** The list of a card; an empty one is hidden, so that it can be filled when the hub knows more. */
export function riskList(asked: Asked, viewpoint: Viewpoint): HTMLUListElement {
  const list = el("ul", "risks");
  fillRisks(list, asked, viewpoint);
  return list;
}

/** The severity of the worst risk; empty if nothing was found, or nothing was judged yet. */
export function worstRisk(asked: Asked): string {
  return SEVERITIES.find((one) => asked.risks?.some((risk) => risk.severity === one)) ?? "";
}

export function fillRisks(list: HTMLElement, asked: Asked, viewpoint: Viewpoint): void {
  const lines: HTMLElement[] = [];
  if (asked.rule || asked.act?.why) lines.push(el("li", "asked-by", "Why you are asked: ", shown(String(asked.rule || asked.act?.why), "exact line")));
  for (const risk of Array.isArray(asked.risks) ? asked.risks : []) lines.push(line(risk, viewpoint));
  if (asked.risksNote) lines.push(el("li", "unjudged", shown(String(asked.risksNote), "exact line")));
  list.replaceChildren(...lines);
  list.hidden = !lines.length;
  list.dataset.worst = worstRisk(asked);
}

function line(risk: Risk, viewpoint: Viewpoint): HTMLElement {
  const known = SEVERITIES.includes(risk.severity ?? "");
  const place = risk.path ? `${shortPath(String(risk.path), viewpoint)}${risk.line ? `:${risk.line}` : ""}` : "";
  return el(
    "li", `risk ${known ? risk.severity : ""}`,
    known && el("strong", "severity", risk.severity), " ", shown(String(risk.text ?? ""), "exact line"),
    place ? el("span", "risk-place", " in ", fileLink(String(risk.path), Number(risk.line) || 0, "link", shown(place, "exact line"))) : null,
    risk.rule ? el("span", "risk-rule", " ", shown(risk.rule, "exact line")) : null,
  );
}
