// One row of the story. Each kind has a way to be shown; what is unknown is shown as its frame.
const frameLink = (number, label) => make("button", { type: "button", class: "link", "aria-label": `frame ${number + 1}`, onclick: () => showFrame(number) }, label ?? `frame ${number + 1}`);

const took = (row) => (row.took === undefined ? make("span", { class: "warn" }, "never answered") : `after ${duration(row.took)}`);

const failure = (row) => (row.error ? make("p", { class: "bad" }, `error ${row.error.code}: ${row.error.message}`) : null);

const option = (row) => {
  const outcome = row.outcome || {};
  if (row.took === undefined) return make("span", { class: "warn" }, "nobody answered");
  if (outcome.outcome !== "selected") return make("span", { class: "warn" }, outcome.outcome || "an error");
  const chosen = row.options.find((one) => one.optionId === outcome.optionId);
  const allowed = chosen && /^allow/.test(chosen.kind || "");
  return make("span", { class: allowed ? "good" : "bad" }, chosen ? chosen.name : outcome.optionId);
};

const MARKS = { completed: "☑", in_progress: "◐", pending: "☐" };
const SHADES = { completed: "good", failed: "bad" };

const SHOWN = {
  prompt: (row) => make("div", { class: "card" }, make("div", { class: "who" }, "User"), row.blocks.map(block), failure(row)),
  end: (row) => make("div", { class: "meta" }, `turn ended: `, make("b", {}, String(row.stop || "without a stop reason")), ` after ${duration(row.took)}`),
  message: (row) => {
    const thought = row.update === "agent_thought_chunk";
    const who = thought ? "Thought" : row.update === "user_message_chunk" ? "User (replayed)" : "Agent";
    const body = make("div", { class: thought ? "thought" : "" }, row.blocks.map(block));
    return make("div", { class: "card" }, make("div", { class: "who" }, `${who} `, make("span", { class: "meta" }, row.count > 1 ? `${row.count} pieces` : "")), body);
  },
  tool: (row) => {
    const head = make("summary", {}, make("span", { class: SHADES[row.status] || "" }, `${row.status || "?"} `), make("b", {}, String(row.title || row.name || row.id)), make("span", { class: "meta" }, ` ${row.tool || ""} · ${duration((row.end ?? row.at) - row.at)} · ${row.reports} reports`));
    const parts = (Array.isArray(row.content) ? row.content : []).map(toolContent);
    const places = (Array.isArray(row.locations) ? row.locations : []).map((one) => make("p", { class: "meta" }, `${one.path}${one.line ? `:${one.line}` : ""}`));
    const raw = ["rawInput", "rawOutput"].filter((name) => row[name] !== undefined).map((name) => make("details", {}, make("summary", { class: "meta" }, name), make("pre", {}, short(asText(row[name]), LONG))));
    return make("details", { class: "card", open: parts.length ? "" : undefined }, head, places, parts, raw);
  },
  permission: (row) => make("div", { class: "card" },
    make("div", { class: "who" }, "Permission"), make("div", {}, make("b", {}, String(row.call.title || row.call.toolCallId || "?"))),
    (Array.isArray(row.call.content) ? row.call.content : []).map(toolContent),
    row.call.rawInput !== undefined ? make("pre", {}, short(asText(row.call.rawInput), LONG)) : null,
    make("div", { class: "meta" }, "decided by the client: ", option(row), " ", took(row)), failure(row)),
  plan: (row) => make("div", { class: "card" }, make("div", { class: "who" }, "Plan"), make("ul", { class: "plan" }, row.entries.map((one) => make("li", {}, `${MARKS[one.status] || "·"} ${one.content}`)))),
  call: (row) => make("div", {}, make("span", { class: "meta" }, row.side ? "◀ " : "▶ "), make("code", {}, row.method), make("span", { class: "meta" }, " ", took(row)), failure(row)),
  told: (row) => make("div", {}, make("span", { class: "meta" }, row.side ? "◀ " : "▶ "), make("code", {}, row.method)),
  subagent: (row) => make("div", { class: "meta" }, "subagent ", make("b", {}, row.name), row.state ? `: ${row.state}` : ""),
  update: (row) => make("div", { class: "meta" }, row.update),
  note: (row) => {
    const lines = row.text.split("\n").length;
    if (lines === 1) return make("div", { class: "meta" }, `· ${row.event} `, row.text ? make("code", {}, short(row.text, 600)) : "");
    return make("details", { class: "meta" }, make("summary", {}, `${row.event}: ${lines} lines`), long(row.text, (text) => make("pre", {}, text)));
  },
  broken: (row) => make("div", { class: "card" }, make("div", { class: "who bad" }, "Not a message"), make("pre", {}, row.text)),
  stray: () => make("div", { class: "card bad" }, "An answer that nobody asked for"),
};

const showRow = (row, findings) => {
  const shown = (SHOWN[row.kind] || ((one) => make("pre", {}, asText(one))))(row);
  const requester = row.requester ? make("div", { class: "requester" }, row.requester) : null;
  const found = findings.map((one) => make("p", { class: one.level === "fail" ? "bad" : "warn" }, `⚑ ${one.rule}: ${one.why}`));
  const numbers = [...new Set([row.frame, row.answer, row.last].filter((one) => one !== undefined))];
  const links = make("div", { class: "links" }, numbers.map((one) => frameLink(one, `#${one + 1}`)));
  return make("div", { class: `row ${row.kind}${found.length ? " finding" : ""}${row.requester ? " child" : ""}` }, make("time", {}, clock(row.at)), make("div", { class: "what" }, requester, shown, found), links);
};
