/** What the view and the extension host say to each other. Neither message ever carries a token. */

/** From the view. `socket` numbers the sockets that it opens. */
export type ViewMessage =
  | { kind: "ready" }
  | { kind: "open"; socket: number }
  | { kind: "frame"; socket: number; text: string }
  /** So many characters of frames were taken over from the host. */
  | { kind: "taken"; socket: number; size: number }
  | { kind: "close"; socket: number }
  | { kind: "command"; command: ViewCommand; sessionId?: string }
  | { kind: "file"; sessionId: string; path: string; line: number; request: number }
  | { kind: "save"; name: string; text: string };

export const VIEW_COMMANDS = ["connect", "startHub", "openChanges"] as const;
export type ViewCommand = (typeof VIEW_COMMANDS)[number];

/** From the host. */
export type HostMessage =
  | { kind: "opened"; socket: number }
  | { kind: "refused"; socket: number; reason: string }
  | { kind: "closed"; socket: number; reason: string }
  | { kind: "frame"; socket: number; text: string }
  | { kind: "route"; hash: string }
  | { kind: "folders"; folders: string[] }
  /** The hub or the token has changed: connect again. */
  | { kind: "reconnect" }
  /** The file of that request is not on this machine. */
  | { kind: "absent"; request: number };
