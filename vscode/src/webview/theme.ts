/** Light or dark as VS Code has it: the page's own colours that VS Code has no word for follow it. */

import { chooseTheme } from "../../../packages/hub/web/src/model/appearance";

export function followTheme(): void {
  const follow = (): void => {
    const { classList } = document.body;
    const isLight = classList.contains("vscode-light") || classList.contains("vscode-high-contrast-light");
    chooseTheme(isLight ? "light" : "dark");
  };
  follow();
  new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
