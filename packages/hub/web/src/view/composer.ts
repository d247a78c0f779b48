/** Where a person writes: text, commands, files, attachments. Keeps a draft for each session until it is sent. */

import type { App } from "../model/app";
import type { Conversation } from "../model/conversation";
import { recall, recallJson, remember } from "../model/memory";
import type { ContentBlock } from "../model/types";
import { plain } from "../text/reveal";
import { blockView } from "./blocks";
import { Completion } from "./completion";
import { button, el, setText, shown, sizeOf } from "./dom";
import { iconNode } from "./icons";

const LARGEST = 8_000_000;
const TALLEST = 260;

interface Attachment {
  name: string;
  block: ContentBlock;
}

/** What is attached to the drafts of sessions that are not on the screen; too large for the browser's storage. */
const shelves = new Map<string, Attachment[]>();

export class Composer {
  readonly element = el("form", "composer");
  readonly field = el("textarea");
  private attached: Attachment[] = [];
  private shelf = el("div", "shelf");
  private mentions = new Set<string>();
  private completion: Completion;
  private send = el("button", "round send");
  private stop = button("", "round stop", () => this.cancel(), "Stop the turn (Ctrl .)");
  private session = "";
  private picker = el("input");
  private hint = el("p", "faint");
  private steerButton = button("Steer now", "small", () => this.steer(), "Send to the running turn (Ctrl Enter)");
  private queueButton = button("Queue", "small", () => this.submit(), "Send after this turn (Enter)");
  /** What can be done with a message while a turn runs. */
  private ways = el("div", "composer-ways", this.hint, this.steerButton, this.queueButton);
  /** Why a message came back, by session, until it is changed. */
  private reasons = new Map<string, string>();
  private reason = el("p", "composer-reason");

  /** `target` is the session that is written to. */
  constructor(private app: App, private target: () => Conversation | null, private sent: () => void) {
    this.completion = new Completion(app, target, this.field, (insert) => {
      if (insert.startsWith("@")) this.mentions.add(insert.slice(1));
      this.changed();
    });
    this.field.rows = 1;
    this.field.placeholder = "Message the agent";
    this.field.setAttribute("aria-label", "Message the agent");
    this.send.type = "submit";
    this.send.append(iconNode("send"));
    this.stop.append(iconNode("stop"));
    this.stop.setAttribute("aria-label", "Stop the turn");
    this.picker.type = "file";
    this.picker.multiple = true;
    this.picker.hidden = true;
    const clip = button("", "round quiet", () => this.picker.click(), "Attach a file");
    clip.setAttribute("aria-label", "Attach a file");
    clip.append(iconNode("clip"));
    const row = el("div", "composer-row", clip, this.picker, this.field, this.stop, this.send);
    this.reason.setAttribute("role", "alert");
    this.element.append(this.completion.element, this.reason, this.shelf, row, this.ways);
    this.listen();
  }

  private listen(): void {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.field.addEventListener("input", () => {
      this.reasons.delete(this.session);
      this.changed();
      void this.completion.look();
    });
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("blur", () => this.completion.hide());
    this.field.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      void this.attach(files);
    });
    this.picker.addEventListener("change", () => {
      void this.attach([...(this.picker.files ?? [])]);
      this.picker.value = "";
    });
  }

  /** Another session is shown, or things have changed around this one. */
  update(): void {
    const open = this.target();
    if (!open) {
      this.session = "";
      return;
    }
    if (open.id !== this.session) {
      this.session = open.id;
      this.field.value = recall(`draft.${open.id}`);
      this.attached = shelves.get(open.id) ?? [];
      this.mentions = new Set(recallJson<string[]>(`mentions.${open.id}`, []));
      this.shelve();
      this.fit();
    }
    const isConnected = this.app.health === "live";
    const running = isConnected && (Boolean(open.fold.turn) || open.info?.state === "running" || open.info?.state === "waiting");
    this.stop.hidden = !running;
    this.send.setAttribute("aria-label", running ? "Send after this turn" : isConnected ? "Send" : "Send when the network is back");
    this.send.title = running ? "Add to the queue (Enter)" : isConnected ? "Send (Enter)" : "Send when the network is back (Enter)";
    const able = this.app.may("prompt") && !open.fold.ended;
    this.field.disabled = !able;
    this.send.disabled = !able || (!this.field.value.trim() && !this.attached.length);
    this.offerWays(open, running && open.canSteer && !this.send.disabled);
    if (!able) this.field.placeholder = open.fold.ended ? "This session has ended" : "You can watch, but not write";
  }

  private offerWays(open: Conversation, isOffered: boolean): void {
    this.ways.hidden = !isOffered;
    this.send.hidden = isOffered;
    const restarts = open.steeringWay === "restart";
    setText(this.hint, restarts ? "Steering stops the turn and starts it again" : "The agent reads it during this turn");
    setText(this.reason, plain(this.reasons.get(open.id) ?? ""));
    this.reason.hidden = !this.reason.textContent;
  }

  private key(event: KeyboardEvent): void {
    if (this.completion.key(event)) return;
    if (event.key === "Escape") this.field.blur();
    // On a touch keyboard Enter is how lines are made; there is a button to send.
    const byTouch = matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || byTouch) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.steer();
    else this.submit();
  }

  private changed(): void {
    remember(`draft.${this.session}`, this.field.value);
    shelves.set(this.session, this.attached);
    const mentions = [...this.mentions].filter((path) => this.field.value.includes(`@${path}`));
    remember(`mentions.${this.session}`, mentions.length ? JSON.stringify(mentions) : "");
    this.fit();
    this.update();
  }

  private fit(): void {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(TALLEST, this.field.scrollHeight)}px`;
  }

  submit(): void {
    const open = this.target();
    const prompt = this.takePrompt();
    if (open && prompt) open.prompt(this.app.rpc, prompt);
  }

  /** Says it into the running turn; where none runs, it is a prompt. */
  steer(): void {
    const open = this.target();
    const prompt = this.takePrompt();
    if (!open || !prompt) return;
    open.steer(this.app.rpc, prompt).catch((error: Error) => this.putBack(open.id, prompt, error.message));
  }

  /** What is written, which the field then has no longer. */
  private takePrompt(): ContentBlock[] | null {
    const text = this.field.value.trim();
    // Another session may be gone to, and not be drawn yet: what is written here is not for it.
    if (this.target()?.id !== this.session || this.send.disabled || (!text && !this.attached.length)) return null;
    const prompt: ContentBlock[] = text ? [{ type: "text", text }] : [];
    for (const path of this.mentions) if (text.includes(`@${path}`)) prompt.push(this.linkTo(path));
    for (const { block } of this.attached) prompt.push(block);
    this.sent();
    this.reasons.delete(this.session);
    this.field.value = "";
    this.attached = [];
    this.mentions.clear();
    this.shelve();
    this.changed();
    return prompt;
  }

  /** A message that the agent has not got comes back with the reason, also to a session that is not shown now. */
  private putBack(session: string, prompt: ContentBlock[], reason: string): void {
    this.reasons.set(session, `Not delivered: ${reason}`);
    if (session === this.session) return this.restore(prompt);
    remember(`draft.${session}`, [textIn(prompt), recall(`draft.${session}`)].filter(Boolean).join("\n"));
    shelves.set(session, [...(shelves.get(session) ?? []), ...attachmentsIn(prompt)]);
    this.app.say(`A message was not delivered. It is back in the draft of its session: ${plain(reason)}`);
  }

  private linkTo(path: string): ContentBlock {
    const folder = (this.target()?.info?.cwd ?? "").replace(/\/$/, "");
    const uri = `file://${`${folder}/${path}`.split("/").map(encodeURIComponent).join("/")}`;
    return { type: "resource_link", uri, name: path };
  }

  cancel(): void {
    const open = this.target();
    if (!open) return;
    this.app.rpc.notify("session/cancel", { sessionId: open.id });
    this.app.say("Stopping …");
  }

  /** A prompt that could not be sent, or that is taken back to be changed. */
  restore(prompt: ContentBlock[]): void {
    this.field.value = [textIn(prompt), this.field.value].filter(Boolean).join("\n");
    this.attached.push(...attachmentsIn(prompt));
    this.shelve();
    this.changed();
    this.field.focus();
  }

  async attach(files: File[]): Promise<void> {
    const { session } = this;
    for (const file of files) {
      try {
        const block = await this.blockOf(file);
        // Another session may be shown by now.
        const shelf = session === this.session ? this.attached : (shelves.get(session) ?? []);
        shelf.push({ name: file.name, block });
        shelves.set(session, shelf);
      } catch (error) {
        this.app.say(`${file.name} was not attached: ${error instanceof Error ? error.message : error}`);
      }
    }
    this.shelve();
    this.changed();
  }

  private async blockOf(file: File): Promise<ContentBlock> {
    if (file.size > LARGEST) throw new Error(`it is ${sizeOf(file.size)}, and the limit is ${sizeOf(LARGEST)}`);
    const can = this.target()?.fold.takes ?? this.app.capabilities.promptCapabilities ?? {};
    const bytes = new Uint8Array(await file.arrayBuffer());
    for (const type of ["image", "audio"] as const) {
      if (!file.type.startsWith(`${type}/`)) continue;
      if (can[type] === false) throw new Error(`this agent does not accept ${type} files`);
      return { type, data: base64(bytes), mimeType: file.type };
    }
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); // throws on what is no text
    const uri = `file:///${encodeURIComponent(file.name)}`;
    if (can.embeddedContext) return { type: "resource", resource: { uri, mimeType: file.type || "text/plain", text } };
    return { type: "text", text: `${file.name}:\n\`\`\`\n${text}\n\`\`\`` };
  }

  private shelve(): void {
    this.shelf.replaceChildren(...this.attached.map((one) => {
      const drop = button("", "drop", () => {
        this.attached = this.attached.filter((other) => other !== one);
        this.shelve();
        this.changed();
      });
      drop.setAttribute("aria-label", `Remove ${plain(one.name, "exact line")}`);
      drop.append(iconNode("close"));
      const shape = one.block.type === "image" ? blockView(one.block, true) : el("span", "chip", shown(one.name, "exact line"));
      return el("div", "shelved", shape, drop);
    }));
  }
}

function textIn(prompt: ContentBlock[]): string {
  return prompt.filter((block) => block.type === "text").map((block) => block.text ?? "").join("\n");
}

function attachmentsIn(prompt: ContentBlock[]): Attachment[] {
  return prompt.filter((block) => block.type !== "text").map((block) => ({ name: block.name ?? block.type, block }));
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
