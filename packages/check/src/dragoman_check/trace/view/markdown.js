// A little markdown: fences, headings, lists, bold and code. Links stay text, with their address beside them.
const inline = (text) => {
  const parts = [];
  const pattern = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\[[^\]\n]+\]\([^)\s]+\))/g;
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    parts.push(text.slice(last, found.index));
    const piece = found[0];
    if (piece[0] === "`") parts.push(make("code", {}, piece.slice(1, -1)));
    else if (piece[0] === "*") parts.push(make("strong", {}, piece.slice(2, -2)));
    else {
      const [, label, address] = piece.match(/^\[(.+)\]\((.+)\)$/);
      parts.push(label, make("span", { class: "meta" }, ` (${address})`));
    }
    last = found.index + piece.length;
  }
  parts.push(text.slice(last));
  return parts.filter((part) => part !== "");
};

const markdown = (text) => {
  const box = make("div", { class: "text" });
  const sections = text.split(/^```.*$/m);
  sections.forEach((section, at) => {
    if (at % 2 === 1) {
      box.append(make("pre", {}, make("code", {}, section.replace(/^\n|\n$/g, ""))));
      return;
    }
    let list = null;
    for (const part of section.split(/\n/)) {
      const item = part.match(/^\s*(?:[-*]|\d+\.)\s+(.*)$/);
      const heading = part.match(/^#{1,6}\s+(.*)$/);
      if (item) {
        if (!list) box.append((list = make("ul")));
        list.append(make("li", {}, inline(item[1])));
        continue;
      }
      list = null;
      if (heading) box.append(make("h3", {}, inline(heading[1])));
      else if (part.trim()) box.append(make("p", {}, inline(part)));
    }
  });
  return box;
};
