/**
 * What a question is about, drawn from what the hub has judged and from nothing else. The agent's own words stand in quotes
 * or under a heading that says whose they are. Doubts also tell of a command that is not told, or that starts outside.
 */

import type { ShownAct, ShownChange } from "../model/types";
import { isCommand } from "../text/command";
import { type Viewpoint, shortPath } from "../text/places";
import { el, shown } from "./dom";
import { commandView, fileDiff, jsonView, placeRow } from "./tool";

export function actParts(act: ShownAct, viewpoint: Viewpoint): Node[] {
  const texts = (label: string, found: string[] = []): HTMLElement[] => found.map((text) => jsonView(label, text, "exact"));
  return [
    act.command && commandView(act.command, act.folder ?? "", viewpoint),
    act.title && !isCommand(act.title, act.command ?? "") && el("p", "quoted", "Title from the agent: “", shown(act.title, "exact line"), "”"),
    ...(act.doubts?.filter((doubt) => !act.why?.includes(doubt)).map((doubt) => el("p", "quoted", "Take care: ", shown(doubt, "exact line"))) ?? []),
    ...texts("Variable", act.variables),
    placeRow((act.places ?? []).filter(({ path, isOutside }) => isOutside || !act.changes?.some((change) => change.path === path)), viewpoint),
    ...(act.changes?.map((change) => changeView(change, viewpoint)) ?? []),
    ...texts("From the agent", act.remarks),
    ...(act.input?.map(({ name, text }) => jsonView(name || "Input", text, "exact")) ?? []),
    ...texts("Also from the agent", act.unknownTexts),
  ].filter((part): part is HTMLElement => Boolean(part));
}

function changeView({ path, old, new: text, patch, everywhere }: ShownChange, viewpoint: Viewpoint): HTMLElement {
  if (text === undefined) return jsonView(shortPath(path, viewpoint), patch ?? "The new content is unknown.", "exact");
  const made = fileDiff(path, old ?? "", text, old === undefined, viewpoint);
  if (everywhere) made.append("Replaces every match in the file.");
  return made;
}
