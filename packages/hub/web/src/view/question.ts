/**
 * What waits for a person: a permission with the whole command or diff, or a form. A card is made once for each
 * question and kept, so that nothing typed is lost when the page is drawn again. Texts are never cut.
 */

import type { App } from "../model/app";
import { nameOf } from "../model/app";
import { sessionTitle } from "../model/beginning";
import { identityOf } from "../model/hubs";
import { headingOf, optionWords, orderedOptions } from "../model/asked";
import type { Asked, PermissionOption } from "../model/types";
import { plain } from "../text/reveal";
import { actParts } from "./act";
import { dialog } from "./dialogs";
import { button, el, lastPart, shown, standing } from "./dom";
import { iconNode } from "./icons";
import { away } from "./markdown";
import { fillRisks, riskList, worstRisk } from "./risks";
import { toolParts } from "./tool";

const cards = new Map<string, HTMLElement>();
/** The question as a card shows it: what the hub learns later makes another one of it. */
const drawn = new WeakMap<HTMLElement, Asked>();

export function questionCard(app: App, asked: Asked, inSession: boolean, place = inSession ? "s" : "h"): HTMLElement {
  const name = `${place}${nameOf(asked)}`;
  let card = cards.get(name);
  if (!card) {
    card = asked.method === "session/request_permission" ? permission(app, asked, inSession) : elicitation(app, asked, inSession);
    cards.set(name, card);
    drawn.set(card, asked);
  }
  const since = card.querySelector<HTMLElement>(".since");
  const words = standing(asked);
  if (since && since.textContent !== words) since.textContent = words;
  const list = drawn.get(card) !== asked && card.querySelector<HTMLElement>(".risks");
  if (list) fillRisks(list, asked, app.readerOf(asked.sessionId));
  drawn.set(card, asked);
  return card;
}

/** Cards of questions that are no more. */
export function forgetCards(open: Map<string, Asked>): void {
  for (const name of cards.keys()) if (!open.has(name.slice(1))) cards.delete(name);
}

/**
 * What a session asks, over whatever is on the screen: the whole question, and the answer one key away. Where the rules
 * found something grave, no answer has the focus, so that nobody says yes by habit.
 */
export function decide(app: App, sessionId: string): void {
  const asked = [...app.inbox.values()].find((one) => one.sessionId === sessionId);
  if (!asked) return app.say("This session has no open question.");
  const card = questionCard(app, asked, false, "d");
  const opened = dialog("Decide", card);
  opened.classList.add("decision");
  opened.dataset.question = nameOf(asked);
  const allow = card.querySelector<HTMLElement>(".choice.allow_once");
  if (allow && !["critical", "high"].includes(worstRisk(asked))) allow.focus();
  else card.focus();
}

/** Windows of questions that somebody has answered. */
export function closeDecided(open: Map<string, Asked>): void {
  for (const opened of document.querySelectorAll<HTMLDialogElement>("dialog.decision")) if (!open.has(opened.dataset.question!)) opened.close();
}

function frame(app: App, asked: Asked, inSession: boolean, kind: string, title: string): [HTMLElement, HTMLElement] {
  const session = app.sessions.get(asked.sessionId);
  const card = el("article", "card");
  card.tabIndex = -1;
  card.dataset.request = asked.request;
  card.dataset.session = identityOf(asked);
  const heading = el("h3", "card-title", shown(title, "exact line"));
  card.setAttribute("aria-label", `Needs you: ${plain(title, "exact line")}`);
  card.append(el("header", "card-head", el("span", "tool-icon", iconNode(kind)), heading));
  if (asked.requester) card.append(el("p", "faint", shown(`${asked.requester}:`, "exact line")));
  if (!inSession) card.append(origin(app, asked, session?.cwd ?? ""));
  card.append(el("p", "faint since", standing(asked)));
  card.append(riskList(asked, app.readerOf(asked.sessionId)));
  const body = el("div", "card-body");
  card.append(body);
  return [card, body];
}

function origin(app: App, asked: Asked, cwd: string): HTMLElement {
  const link = el("a", "origin", shown([app.hub?.name, sessionTitle({ title: asked.title, agent: "", cwd: "" }), asked.agent, lastPart(cwd)].filter(Boolean).join(" · "), "line"));
  link.href = app.hashOf(asked.sessionId);
  return el("div", "card-origin", link);
}

function permission(app: App, asked: Asked, inSession: boolean): HTMLElement {
  const { act } = asked;
  const reader = app.readerOf(asked.sessionId);
  const [card, body] = frame(app, asked, inSession, act?.kinds?.[0] ?? "other", headingOf(asked));
  body.append(...(act ? actParts(act, reader) : toolParts(asked.params.toolCall ?? {}, reader)));
  if (!app.may("approve")) {
    card.append(watching());
    return card;
  }
  const options: PermissionOption[] = Array.isArray(asked.params.options) ? asked.params.options : [];
  const choose = (optionId: string): void => {
    // The card goes with its answer; who works with keys goes on writing.
    if (inSession && !matchMedia("(pointer: coarse)").matches) (card.closest(".pane") ?? document).querySelector<HTMLElement>(".composer textarea")?.focus();
    void app.answer(asked, { outcome: { outcome: "selected", optionId } });
  };
  const row = el("div", "card-actions");
  orderedOptions(options).forEach((option, at) => {
    const made = button("", `choice ${option.kind}`, () => choose(option.optionId));
    made.append(el("span", "", shown(optionWords(option), "exact line")), el("kbd", "", String(at + 1)));
    row.append(made);
  });
  if (act?.always) row.prepend(el("p", "quoted always", shown(act.always, "exact line")));
  card.append(row);
  return card;
}

function watching(): HTMLElement {
  return el("p", "faint", "You can watch this session. Your token can't answer questions.");
}

function elicitation(app: App, asked: Asked, inSession: boolean): HTMLElement {
  const { message, mode, url, requestedSchema } = asked.params;
  const [card, body] = frame(app, asked, inSession, "ask", "The agent has a question");
  const words = el("p", "card-message");
  words.append(shown(String(message ?? "")));
  body.append(words);
  if (!app.may("approve")) {
    if (mode === "url") body.append(visit(url));
    body.append(watching());
    return card;
  }
  // Few agents ask in forms: what draws them is loaded with the first.
  void import("./form").then(({ formOf }) => {
    const form = formOf(requestedSchema ?? {}, (content) => {
      void app.answer(asked, mode === "url" ? { action: "accept" } : { action: "accept", content });
    });
    if (mode === "url") form.prepend(visit(url));
    const send = el("button", "choice allow_once", mode === "url" ? "I have done that" : "Answer");
    send.type = "submit";
    const decline = button("Decline", "choice reject_once", () => void app.answer(asked, { action: "decline" }));
    form.append(el("div", "card-actions", send, decline));
    body.append(form);
  }, () => body.append(el("p", "fault", "The form could not be loaded. Reload the page to answer.")));
  return card;
}

/** The whole address, as a link that leads nowhere until somebody says so once more. */
function visit(url: unknown): HTMLElement {
  return el("p", "", "The agent asks you to open ", away(String(url), "link", String(url)));
}
