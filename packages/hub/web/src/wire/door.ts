/**
 * How a connection comes to a socket. A browser trades its token for a ticket, because a WebSocket of a page carries no
 * headers; whoever has another way to the hub gives a door of its own.
 */

/** As much of a WebSocket as a connection needs. */
export interface HubSocket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { reason: string }) => void) | null;
  send(text: string): void;
  close(): void;
}

export interface Door {
  /** Whether it lets in only who has a token of the browser. */
  readonly needsToken?: boolean;
  /** A socket that is about to open. Rejects with `Refused` where another try would change nothing. */
  open(): Promise<HubSocket>;
}

/** The hub does not want us; the message says why. */
export class Refused extends Error {}

/** Something over which nothing answered for so long is dead, whatever the system believes. */
export const SILENCE = 12_000;

export class TicketDoor implements Door {
  readonly needsToken = true;

  constructor(
    protected address: () => string,
    private token: () => string,
  ) {}

  async open(): Promise<HubSocket> {
    const address = new URL("/acp", this.address());
    address.protocol = address.protocol.replace("http", "ws");
    address.searchParams.set("ticket", await this.ticket());
    address.searchParams.set("lines", "1"); // of a flood, many messages come in one text
    return new WebSocket(address) as HubSocket;
  }

  private async ticket(): Promise<string> {
    const abort = AbortSignal.timeout(SILENCE);
    const headers = { Authorization: `Bearer ${this.token()}` };
    const answer = await fetch(new URL("/ticket", this.address()), { method: "POST", headers, signal: abort, cache: "no-store" });
    if (answer.status === 401) throw new Refused("This token is not valid for this hub.");
    if (answer.status === 403) throw new Refused("The hub does not accept this page.");
    if (!answer.ok) throw new Error(answer.status === 429 ? "too many attempts" : `the hub answered ${answer.status}`);
    const { ticket } = await answer.json();
    return String(ticket);
  }
}

/** The door of a hub whose page this is not: it lets in pages of origins that it was told of. */
export class OtherHubDoor extends TicketDoor {
  override async open(): Promise<HubSocket> {
    try {
      return await super.open();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      // To a page, no answer and an answer that it may not read are the same; whether there is one can be seen.
      const probe = fetch(new URL("/ticket", this.address()), { mode: "no-cors", cache: "no-store", signal: AbortSignal.timeout(SILENCE) });
      const isThere = await probe.then(() => true, () => false);
      throw isThere ? new Error(`it does not accept pages from ${location.origin}. Add this address to “origins” in its configuration`) : error;
    }
  }
}
