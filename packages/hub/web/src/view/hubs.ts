/** The form for another hub: its address with a token, or the link that `dragoman hub pair` prints there. */

import { type Hubs, parseHubLink } from "../model/hubs";
import { exchangeCode } from "../model/pairing";
import { dialog } from "./dialogs";
import { el, shown } from "./dom";

export function showAddHub(hubs: Hubs, link: string): void {
  const field = (id: string, label: string, type: string, hint: string): [HTMLElement, HTMLInputElement] => {
    const input = el("input");
    Object.assign(input, { id, type, spellcheck: false, autocomplete: "off" });
    const name = el("label", "", label);
    name.htmlFor = id;
    return [el("div", "field", name, input, el("p", "faint", hint)), input];
  };
  const [linkRow, linkField] = field("hub-link", "Pairing link or address", "text", "Run “dragoman hub pair” on the other machine to get a link. With an address alone, you also need a token.");
  const [tokenRow, tokenField] = field("hub-token", "Token", "password", "A token of the other hub. Leave this empty if you have a pairing link.");
  const [nameRow, nameField] = field("hub-name", "Name", "text", "Optional. How this browser shows the hub.");
  linkField.required = true;
  linkField.value = link;
  const fault = el("p", "fault");
  fault.setAttribute("role", "alert");
  const add = el("button", "choice allow_once", "Add");
  add.type = "submit";
  const trust = el("p", "faint", "The people who run this hub could use the other hub's token. Add a hub only if you trust them with it.");
  const form = el("form", "form", linkRow, tokenRow, nameRow, trust, fault, el("div", "card-actions", add));
  const opened = dialog("Add a hub", form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    add.disabled = true;
    void enter(hubs, linkField.value, tokenField.value.trim(), nameField.value.trim()).then(
      () => opened.close(),
      (error: Error) => {
        add.disabled = false;
        fault.replaceChildren(shown(error.message));
      },
    );
  });
}

/** Rejects with what is wrong, for the person. */
async function enter(hubs: Hubs, text: string, typedToken: string, name: string): Promise<void> {
  const link = parseHubLink(text);
  if (!link) throw new Error("This is not an address. Use https://…, or http://… on this machine.");
  const { address, code } = link;
  if (address === location.origin) throw new Error("This page already belongs to that hub.");
  const named = hubs.home.namedHubs.map((hub) => hub.toLowerCase());
  if (!named.includes(address)) {
    throw new Error(`This page's hub does not allow ${address}. Add hubs = ["${address}"] to its configuration, reload the configuration, then reload this page.`);
  }
  if (!code && !link.token && !typedToken) throw new Error("Enter a pairing link, or a token of the other hub.");
  const token = code ? await pair(code, address) : link.token || typedToken;
  hubs.add(address, token, name);
}

async function pair(code: string, address: string): Promise<string> {
  const result = await exchangeCode(code, address);
  if ("token" in result) return result.token;
  throw new Error(`${result.reason} The other hub must allow this page too: origins = ["${location.origin}"] in its configuration.`);
}
