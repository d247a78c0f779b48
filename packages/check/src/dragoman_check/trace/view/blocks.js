// Content blocks, tool call contents and diffs.
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const SOUNDS = /^audio\/(wav|x-wav|mpeg|ogg|webm|mp4)$/;
const LONG = 20000;

const long = (text, show) => {
  if (text.length <= LONG) return show(text);
  const box = make("div", {}, show(text.slice(0, LONG)));
  const rest = make("button", { type: "button", class: "link" }, `show all ${text.length} characters`);
  rest.addEventListener("click", () => box.replaceChildren(show(text)));
  box.append(rest);
  return box;
};

const block = (one) => {
  if (!one || typeof one !== "object") return make("pre", {}, asText(one));
  if (one.type === "text" && typeof one.text === "string") return long(one.text, markdown);
  if (one.type === "image" && PICTURES.test(one.mimeType) && /^[A-Za-z0-9+/=\s]*$/.test(one.data))
    return make("img", { src: `data:${one.mimeType};base64,${one.data}`, alt: "an image of the conversation" });
  if (one.type === "audio" && SOUNDS.test(one.mimeType) && /^[A-Za-z0-9+/=\s]*$/.test(one.data))
    return make("audio", { src: `data:${one.mimeType};base64,${one.data}`, controls: "" });
  if (one.type === "resource_link") return make("p", { class: "meta" }, `↗ ${one.name || ""} ${one.uri || ""}`);
  if (one.type === "resource" && one.resource)
    return make("details", {}, make("summary", {}, String(one.resource.uri)), make("pre", {}, asText(one.resource.text ?? "(bytes)")));
  return make("pre", {}, asText(one));
};

// The end of the last line begins no further one.
const textLines = (text) => text.replace(/\n$/, "").split("\n").slice(text === "" ? 1 : 0);

// Lines that both texts begin and end with are left out but for a few; the rest is shown as taken out and put in.
const diff = (path, before, after) => {
  const old = textLines(before ?? "");
  const now = textLines(after ?? "");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const lines = [];
  const add = (sign, list, style) => list.forEach((text) => lines.push(make("span", { class: style }, `${sign} ${text}`)));
  add(" ", now.slice(Math.max(0, head - 3), head), "");
  add("-", old.slice(head, old.length - tail), "minus");
  add("+", now.slice(head, now.length - tail), "plus");
  add(" ", now.slice(now.length - tail, now.length - tail + 3), "");
  return make("div", {}, make("p", { class: "meta" }, String(path)), make("pre", { class: "diff" }, lines.slice(0, 2000)));
};

const toolContent = (one) => {
  if (one && one.type === "content") return block(one.content);
  if (one && one.type === "diff") return diff(one.path, one.oldText, one.newText);
  if (one && one.type === "terminal") return make("p", { class: "meta" }, `terminal ${one.terminalId}`);
  return make("pre", {}, asText(one));
};
