/** Content blocks other than text: pictures, sound, links to resources. What an agent sends is shown when asked for. */

import type { ContentBlock } from "../model/types";
import { plain } from "../text/reveal";
import { button, copyButton, el, shown, sizeOf, unfolding } from "./dom";
import { away, markdown } from "./markdown";

/** Formats that a browser only ever paints; a vector image may hold more than that. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/;
const SOUNDS = /^audio\/(wav|mpeg|mp3|ogg|webm|mp4|aac|flac|x-wav)$/;

export function blockView(block: ContentBlock, own = false): HTMLElement {
  switch (block.type) {
    case "text":
      return markdown(block.text ?? "");
    case "image":
      return media(block, "img", PICTURES, "Picture", own);
    case "audio":
      return media(block, "audio", SOUNDS, "Sound", own);
    case "resource_link":
      return resourceLink(block.uri ?? "", block.title ?? block.name ?? "");
    case "resource":
      return resource(block);
    default:
      return el("div", "block odd", "This page can't show this kind of content: ", shown(String(block.type), "exact line"));
  }
}

function media(block: ContentBlock, tag: "img" | "audio", kinds: RegExp, word: string, own: boolean): HTMLElement {
  const type = block.mimeType ?? "";
  const size = sizeOf(Math.floor(((block.data?.length ?? 0) * 3) / 4));
  const holder = el("div", "block media");
  if (!block.data || !kinds.test(type)) {
    holder.append(el("span", "", `${word}, `, shown(type, "exact line"), `, ${size}: this page can't show it`));
    return holder;
  }
  const open = (): void => {
    const made = el(tag);
    made.src = `data:${type};base64,${block.data}`;
    if (made instanceof HTMLImageElement) made.alt = own ? "Your attachment" : "Picture from the agent";
    else (made as HTMLAudioElement).controls = true;
    holder.replaceChildren(made);
  };
  if (own) open();
  else holder.append(button(`Show ${word.toLowerCase()} · ${type} · ${size}`, "quiet", open));
  return holder;
}

function resourceLink(uri: string, name: string): HTMLElement {
  const path = /^file:\/\//.test(uri) ? decodeURI(uri.replace(/^file:\/\//, "")) : "";
  const label = name || path || uri;
  if (path || !/^https?:/.test(uri)) {
    const made = el("span", "chip", shown(label, "exact line"));
    made.title = plain(path || uri, "exact line");
    return made;
  }
  return away(uri, "link chip", label);
}

function resource(block: ContentBlock): HTMLElement {
  const { uri = "", text, blob } = block.resource ?? {};
  const folded = el("details", "block resource", el("summary", "", resourceLink(uri, uri.split("/").pop() ?? "")));
  if (text === undefined) {
    folded.append(el("p", "", `Data, ${sizeOf(Math.floor(((blob?.length ?? 0) * 3) / 4))}`));
    return folded;
  }
  const pre = el("pre");
  pre.tabIndex = 0;
  folded.addEventListener("toggle", () => pre.childNodes.length || unfolding(pre, text, "text"));
  folded.append(pre, copyButton(() => text));
  return folded;
}
