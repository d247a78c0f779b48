/** Windows over the page: each a `<dialog>` that closes with Escape and gives the focus back. */

import { button, copyButton, el, shown } from "./dom";

export function dialog(title: string, ...content: Node[]): HTMLDialogElement {
  const made = el("dialog", "dialog");
  const heading = el("h2", "", shown(title, "line"));
  heading.id = `dialog-${Math.random().toString(36).slice(2)}`;
  made.setAttribute("aria-labelledby", heading.id);
  const close = button("Close", "quiet", () => made.close());
  made.append(el("header", "dialog-head", heading, close), ...content);
  made.addEventListener("close", () => made.remove());
  made.addEventListener("click", (event) => {
    if (event.target === made) made.close(); // beside it
  });
  document.body.append(made);
  made.showModal();
  // What the window is for, not the way out of it.
  made.querySelector<HTMLElement>("input:not([type=radio]), textarea, select, .card-actions button")?.focus();
  return made;
}

export function confirm(title: string, text: string, label: string, act: () => void): void {
  const go = button(label, "choice reject_once", () => {
    shownDialog.close();
    act();
  });
  const shownDialog = dialog(title, el("p", "", shown(text)), el("div", "card-actions", go));
}

/** One text, to be changed; nothing is done when it is left empty. */
export function askText(title: string, value: string, label: string, done: (text: string) => void): void {
  const field = el("textarea", "ask-text");
  field.value = value;
  field.rows = Math.min(8, value.split("\n").length + 1);
  field.setAttribute("aria-label", title);
  const save = el("button", "choice allow_once", label);
  save.type = "submit";
  const form = el("form", "form", field, el("div", "card-actions", save));
  const opened = dialog(title, form);
  const submit = (event: Event): void => {
    event.preventDefault();
    opened.close();
    if (field.value.trim()) done(field.value.trim());
  };
  form.addEventListener("submit", submit);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  field.select();
}

/** Where a link of an agent leads, before it is followed. The host is what matters, so it is what stands out. */
export function leaving(href: string): void {
  let address: URL | null = null;
  try {
    address = new URL(href);
  } catch {
    // shown as it is, without a way to follow it
  }
  const safe = address !== null && /^(https?|mailto):$/.test(address.protocol);
  const whole = el("p", "address", shown(href, "exact line"));
  const words = el("p", "", safe && address?.host ? "This link leads to " : "This link can't be opened from here.");
  if (safe && address?.host) words.append(el("strong", "", shown(address.host, "exact line")), ".");
  const row = el("div", "card-actions");
  if (safe && address) {
    const go = el("a", "choice allow_once", "Open in a new tab");
    go.href = address.href;
    go.target = "_blank";
    go.rel = "noopener noreferrer nofollow";
    go.addEventListener("click", () => window.setTimeout(() => asked.close()));
    row.append(go);
  }
  row.append(copyButton(() => href));
  const asked = dialog("Leave this page?", words, whole, row);
}
