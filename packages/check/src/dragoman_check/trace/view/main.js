const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const { frames, rows, findings } = DATA;

const rowOfFrame = new Map();
rows.forEach((row, at) => [row.frame, row.answer, row.last].forEach((one) => { if (one !== undefined && !rowOfFrame.has(one)) rowOfFrame.set(one, at); }));
const nearestRow = (frame) => {
  for (let one = frame; one >= 0; one -= 1) if (rowOfFrame.has(one)) return rowOfFrame.get(one);
  return 0;
};
const findingsOfRow = new Map();
findings.forEach((one) => {
  const at = nearestRow(one.frame);
  findingsOfRow.set(at, [...(findingsOfRow.get(at) || []), one]);
});
const placed = new Map(rows.map((row, at) => [row, at]));

const story = makePages(byId("story"), rows, (row) => showRow(row, findingsOfRow.get(placed.get(row)) || []));
const list = makeFrames(byId("frames"), frames);
makeLanes(byId("lanes"), rows, frames, (at) => { open("story"); story.go(at); });

byId("findings").append(...(findings.length
  ? findings.map((one) => make("p", { class: "card" }, make("b", { class: one.level === "fail" ? "bad" : "warn" }, `${one.rule} `), one.why, " ", frameLink(one.frame), " ",
      make("button", { type: "button", class: "link", onclick: () => { open("story"); story.go(nearestRow(one.frame)); } }, "in the story")))
  : [make("p", { class: "meta" }, "Nothing was found.")]));
byId("tab-findings").textContent = `Findings (${findings.length})`;

const turns = rows.filter((row) => row.kind === "prompt").length;
const length = frames.length ? duration(frames[frames.length - 1][0]) : "0 ms";
byId("summary").textContent = `${new Date(DATA.start * 1000).toLocaleString()} · ${length} · ${turns} turns · ${frames.length} frames`;

const VIEWS = ["story", "frames", "findings"];
const open = (name) => {
  for (const view of VIEWS) {
    byId(view).hidden = view !== name;
    byId(`tab-${view}`).setAttribute("aria-selected", String(view === name));
  }
  if (name === "frames") list.draw();
};
VIEWS.forEach((view) => byId(`tab-${view}`).addEventListener("click", () => open(view)));

// Search: in the story over the frames behind its rows, so that nothing that was said is missed.
let hits = [];
let current = -1;
const look = () => {
  const words = byId("search").value.toLowerCase();
  hits = [];
  current = -1;
  if (words) frames.forEach((frame, at) => { if (frame[3].toLowerCase().includes(words) || frame[2].includes(words)) hits.push(at); });
  if (!byId("frames").hidden) byId("matches").textContent = words ? `${hits.length} found` : "";
  else {
    hits = [...new Set(hits.map(nearestRow))];
    byId("matches").textContent = words ? `${hits.length} found` : "";
  }
};
const step = (by) => {
  if (!hits.length) return;
  current = (current + by + hits.length) % hits.length;
  byId("matches").textContent = `${current + 1} of ${hits.length}`;
  (byId("frames").hidden ? story : list).go(hits[current]);
};
byId("search").addEventListener("input", look);
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { if (current < 0) look(); step(event.shiftKey ? -1 : 1); }
});
byId("next").addEventListener("click", () => step(1));
byId("previous").addEventListener("click", () => step(-1));
document.addEventListener("keydown", (event) => {
  if (event.target === byId("search")) { if (event.key === "Escape") byId("search").blur(); return; }
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  else if (event.key === "n") step(1);
  else if (event.key === "N") step(-1);
  else if (event.key >= "1" && event.key <= "3") open(VIEWS[Number(event.key) - 1]);
});
document.documentElement.dataset.ready = "true";
