/** A form for the flat schema of an elicitation: texts, numbers, choices, switches. Checks are the browser's own. */

import { plain } from "../text/reveal";
import { el, shown } from "./dom";

interface Field {
  type?: string;
  title?: string;
  description?: string;
  default?: any; // of the field's own type
  enum?: string[];
  oneOf?: { const: string; title?: string }[];
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: { enum?: string[]; anyOf?: { const: string; title?: string }[]; oneOf?: { const: string; title?: string }[] };
}
interface Schema {
  properties?: Record<string, Field>;
  required?: string[];
}
type Read = () => unknown;

const FORMATS: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
let serial = 0;

export function formOf(schema: Schema, done: (content: Record<string, unknown>) => void): HTMLFormElement {
  const form = el("form", "form");
  const reads = new Map<string, Read>();
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const [row, read] = fieldOf(name, field ?? {}, (schema.required ?? []).includes(name));
    form.append(row);
    reads.set(name, read);
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const entries = [...reads].map(([name, read]) => [name, read()] as const);
    done(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
  });
  return form;
}

function fieldOf(name: string, field: Field, required: boolean): [HTMLElement, Read] {
  const id = `field-${++serial}`;
  const label = el("label", "", shown(field.title ?? name, "line"), required ? el("span", "faint", " required") : null);
  label.htmlFor = id;
  const [control, read] = controlOf(field, required);
  const row = el("div", "field", label);
  if (control instanceof HTMLFieldSetElement) control.prepend(el("legend", "", shown(field.title ?? name, "line")));
  else control.id = id;
  if (control instanceof HTMLFieldSetElement) label.remove();
  row.append(control);
  // A field hides what its text hides, and what is in it is sent.
  const suggested = typeof field.default === "string" ? field.default : "";
  if (plain(suggested, "exact line") !== suggested) row.append(el("p", "faint", "Filled in: ", shown(suggested, "exact line")));
  if (field.description) {
    const hint = el("p", "faint", shown(field.description));
    hint.id = `${id}-hint`;
    control.setAttribute("aria-describedby", hint.id);
    row.append(hint);
  }
  return [row, read];
}

function controlOf(field: Field, required: boolean): [HTMLElement, Read] {
  const choices = field.oneOf ?? field.enum?.map((value) => ({ const: value, title: value }));
  if (field.type === "array") return many(field);
  if (choices) return one(choices, field, required);
  if (field.type === "boolean") {
    const box = el("input", "switch");
    box.type = "checkbox";
    box.checked = field.default === true;
    return [box, () => box.checked];
  }
  return written(field, required);
}

function written(field: Field, required: boolean): [HTMLElement, Read] {
  const input = el("input");
  const numeric = field.type === "number" || field.type === "integer";
  input.type = numeric ? "number" : (FORMATS[field.format ?? ""] ?? "text");
  input.required = required;
  if (field.type === "number") input.step = "any";
  if (field.default !== undefined && field.default !== null) input.value = String(field.default);
  // No `pattern`: an expression of an agent's could keep the browser busy for ever. The agent looks at the answer anyway.
  for (const name of ["minLength", "maxLength"] as const) {
    if (field[name] !== undefined && field[name] !== null && !numeric) input.setAttribute(name, String(field[name]));
  }
  if (typeof field.minimum === "number") input.min = String(field.minimum);
  if (typeof field.maximum === "number") input.max = String(field.maximum);
  return [input, () => (input.value === "" ? undefined : numeric ? Number(input.value) : input.value)];
}

function one(choices: { const: string; title?: string }[], field: Field, required: boolean): [HTMLElement, Read] {
  const select = el("select");
  select.required = required;
  if (!required || field.default === undefined) select.append(new Option("Choose …", ""));
  for (const choice of choices) select.append(new Option(plain(choice.title ?? choice.const, "exact line"), choice.const));
  select.value = field.default ?? "";
  return [select, () => select.value || undefined];
}

function many(field: Field): [HTMLElement, Read] {
  const set = el("fieldset");
  const items = field.items ?? {};
  const choices = items.anyOf ?? items.oneOf ?? items.enum?.map((value) => ({ const: value, title: value })) ?? [];
  const boxes = choices.map((choice) => {
    const box = el("input");
    box.type = "checkbox";
    box.value = choice.const;
    box.checked = Array.isArray(field.default) && field.default.includes(choice.const);
    set.append(el("label", "option", box, " ", el("span", "", shown(choice.title ?? choice.const, "exact line"))));
    return box;
  });
  return [set, () => boxes.filter((box) => box.checked).map((box) => box.value)];
}
