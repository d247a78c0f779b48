/**
 * A device that was shown a pairing code gets a token of its own for it, once. The code comes behind the `#`, which no
 * server ever sees, leaves the address bar before anything else, and goes to the hub in the body of a request.
 */

const SECONDS = 15;

export type PairingResult = { token: string } | { reason: string };

/** The code in the address, if there is one; it is not there afterwards. */
export function takePairingCode(): string {
  const found = /^#pair=(.+)$/.exec(location.hash);
  if (found) history.replaceState(null, "", location.pathname + location.search);
  return found ? found[1] : "";
}

/** `address` is that of the hub that gave the code. */
export async function exchangeCode(code: string, address = location.href): Promise<PairingResult> {
  const again = "Run “dragoman hub pair” again and open the new address.";
  try {
    const answer = await fetch(new URL("/pair", address), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code, device: deviceName(navigator.userAgent) }),
      signal: AbortSignal.timeout(SECONDS * 1000),
      cache: "no-store",
    });
    const { token, reason } = await answer.json();
    if (answer.ok && typeof token === "string") return { token };
    return { reason: `${reason || `The hub answered ${answer.status}.`} ${again}` };
  } catch {
    return { reason: `The hub could not be reached, so this device was not paired. ${again}` };
  }
}

/** How a person would call the device: every browser pretends to be several, so the order matters. */
export function deviceName(agent: string): string {
  const first = (names: [RegExp, string][], otherwise: string): string => names.find(([pattern]) => pattern.test(agent))?.[1] ?? otherwise;
  const browser = first([[/Edg/, "Edge"], [/OPR\//, "Opera"], [/SamsungBrowser/, "Samsung Internet"], [/Firefox|FxiOS/, "Firefox"], [/Chrome|CriOS/, "Chrome"], [/Safari/, "Safari"]], "A browser");
  const system = first([[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/CrOS/, "ChromeOS"], [/Windows/, "Windows"], [/Mac OS X/, "macOS"], [/Linux/, "Linux"]], "");
  return system ? `${browser} on ${system}` : browser;
}
