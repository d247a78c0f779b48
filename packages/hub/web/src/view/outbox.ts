/** What waits to be sent, of all sessions: where each message belongs, what keeps it, and a way to drop it. */

import { sessionTitle } from "../model/beginning";
import type { Hubs } from "../model/hubs";
import { promptText } from "../model/items";
import { canTakeBack, drop, outboxCounts, waitingIn } from "../model/outbox";
import { type Sending, sendingLabel } from "../model/steering";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { button, el, shown } from "./dom";

/** Sessions are named as `identityOf` does. */
export function showOutbox(hubs: Hubs, openSession: (identity: string) => void): void {
  const list = el("ol", "outbox");
  const opened = dialog("Waiting to be sent", list);
  const draw = (): void => {
    const entries = Object.keys(outboxCounts()).flatMap((id) => waitingIn(id).map((sending) => entry(id, sending)));
    list.replaceChildren(...entries);
    if (!entries.length) opened.close();
  };
  const entry = (identity: string, sending: Sending): HTMLElement => {
    const [app, id] = hubs.find(identity);
    const title = plain([sessionTitle(app.sessions.get(id) ?? { agent: "", cwd: "" }), hubs.nameOf(app.key)].filter(Boolean).join(" · "));
    const open = button("Open session", "small", () => {
      opened.close();
      openSession(identity);
    });
    const discard = button("Discard", "small danger", () => {
      const conversation = app.conversations().find((shown) => shown.id === id);
      const held = conversation?.sending.find(({ key }) => key === sending.key);
      if (conversation && held) conversation.forget(held);
      else drop(identity, sending.key);
      app.changed();
      draw();
    });
    const text = plain(promptText(sending.prompt)) || "attachment";
    const acts = el("div", "sending-acts", open, ...(canTakeBack(sending) ? [discard] : []));
    return el("li", "", el("strong", "", shown(title, "line")), el("div", "outbox-text", text), el("p", "faint", plain(sendingLabel(sending, app.health === "live"))), acts);
  };
  draw();
}
