/**
 * The few things of a browser that the page's model looks at, for the extension host. The build puts them in the place of the
 * global names. There is no storage: what the model remembers is gone with the window, the token above all.
 */

const ignore = (): void => {};

export const window = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  addEventListener: ignore,
  removeEventListener: ignore,
};

export const document = { visibilityState: "visible", addEventListener: ignore, removeEventListener: ignore };

export const location = { hash: "", href: "", pathname: "", search: "" };
