/** Icons as paths of our own, drawn on a grid of 24. */

import { html, type TemplateResult } from "lit";

const PATHS: Record<string, string> = {
  back: "M15 5l-7 7 7 7",
  new: "M12 5v14M5 12h14",
  search: "M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M16.2 16.2L21 21",
  menu: "M5.500 12a.5.5 0 1 1-1 0a.5.5 0 1 1 1 0M12.500 12a.5.5 0 1 1-1 0a.5.5 0 1 1 1 0M19.500 12a.5.5 0 1 1-1 0a.5.5 0 1 1 1 0",
  inbox: "M4 13l2.500-8h11L20 13v6H4zM4 13h4.500a3.500 3.500 0 0 0 7 0H20",
  board: "M4 5h4.500v14H4zM9.800 5h4.500v9H9.800zM15.600 5H20v11h-4.400z",
  split: "M4 5h16v14H4zM12 5v14",
  agents: "M6 9h12v9H6zM12 9V5M9.500 13v1.500M14.500 13v1.500M3.500 12.500v2.500M20.500 12.500v2.500",
  settings: "M5 7h9M18 7h1M5 12h2M11 12h8M5 17h6M15 17h4M16 5.200v3.600M9 10.200v3.600M13 15.200v3.600",
  file: "M7 3.500h7l4 4V20.500H7zM14 3.500V8h4",
  folder: "M3.500 6h6l2 2.500h9V19h-17z",
  send: "M12 20V5M5.5 11.5L12 5l6.5 6.5",
  stop: "M7 7h10v10H7z",
  clip: "M8 12.5l5.6-5.6a3 3 0 0 1 4.3 4.3l-7.8 7.8a5 5 0 0 1-7.1-7.1L10.500 4.500",
  close: "M6 6l12 12M18 6L6 18",
  bell: "M6 10a6 6 0 0 1 12 0c0 5 2 6 2 7H4c0-1 2-2 2-7M10 20.500h4",
  read: "M4 5h6a2 2 0 0 1 2 2v13a2 2 0 0 0-2-2H4zM20 5h-6a2 2 0 0 0-2 2v13a2 2 0 0 1 2-2h6z",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  delete: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  move: "M4 12h15M13 6l6 6-6 6",
  execute: "M5 7l5 5-5 5M12 18h7",
  think: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.600 10.800c.6.5.9 1.200.9 2.200h5.400c0-1 .3-1.700.9-2.200A6 6 0 0 0 12 3",
  fetch: "M12 4v11M7 11l5 5 5-5M5 20h14",
  switch_mode: "M4 8h13l-3-3M20 16H7l3 3",
  other: "M12 4l8 4.500v7L12 20l-8-4.500v-7z",
  down: "M12 5v14M5.500 12.500L12 19l6.500-6.500",
  fork: "M7 4v16M7 12c6 0 10-1 10-8",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  link: "M10 14a4 4 0 0 0 5.700 0l3.300-3.300a4 4 0 0 0-5.700-5.700L12 6.300M14 10a4 4 0 0 0-5.700 0L5 13.300a4 4 0 0 0 5.700 5.700L12 17.700",
  check: "M5 12.500l4.500 4.500L19 7.500",
  ask: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 18h.01",
};

export function icon(name: string): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name] ?? PATHS.other}></path></svg>`;
}

export function iconNode(name: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const made = document.createElementNS(space, "svg");
  made.setAttribute("class", "icon");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.other);
  made.append(path);
  return made;
}
