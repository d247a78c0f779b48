// Elements are made of text, never of markup: everything in a recording may be hostile.
const make = (name, options = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
};

const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

const duration = (ms) => {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
};

const clock = (ms) => {
  const seconds = Math.floor(ms / 1000);
  const rest = String(ms % 1000).padStart(3, "0");
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}.${rest}`;
};
