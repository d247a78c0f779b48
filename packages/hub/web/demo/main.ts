/** The page of a hub, fed by a recording instead of a hub: a static site can show it. */

import type { App, HubConnection } from "../src/model/app";
import { app, startPage } from "../src/page";
import { Rpc } from "../src/wire/rpc";
import "./demo.css";
import { Player } from "./player";
import { RecordedHub, type Recording } from "./recorded_hub";

/** Stands in the recording for the address of the site that the demo is part of. */
const RECORDED_SITE = "https://dragoman.example/";

/** A connection that is there from the first moment and is never lost. */
class RecordedConnection implements HubConnection {
  readonly needsToken = false;
  readonly rpc: Rpc;
  readonly hub: RecordedHub;
  readonly player: Player;

  constructor(private owner: App, recording: Recording) {
    this.hub = new RecordedHub(recording, (text) => this.rpc.receive(text), (position) => this.player.seek(position));
    this.rpc = new Rpc((text) => this.hub.receive(text), (message) => owner.heard(message));
    this.player = new Player(this.hub, () => this.reread());
  }

  start(): void {
    void this.owner.opened(this.rpc).then(() => this.owner.fared("live", { why: "", retryAt: 0 }));
  }

  stop(): void {}

  hurry(): void {}

  /** The recording has gone back: what the page knows is of the future. */
  private reread(): void {
    const shown = this.owner.shown().map(({ id }) => id);
    if (shown.some((id) => !this.hub.has(id))) location.hash = this.hub.view;
    void this.owner.reopen();
  }
}

async function start(): Promise<void> {
  const answer = await fetch("recording.json");
  if (!answer.ok) throw new Error(`recording.json: ${answer.status}`);
  const text = (await answer.text()).replaceAll(RECORDED_SITE, new URL("../", location.href).href);
  const recording = JSON.parse(text) as Recording;
  let connection: RecordedConnection;
  startPage((owner) => (connection = new RecordedConnection(owner, recording)));
  document.body.append(connection!.player.bar);
  connection!.player.begin();
}

start().catch((error: Error) => {
  document.getElementById("page")!.textContent = `The recording could not be loaded: ${error.message}`;
  app.health = "offline";
});
