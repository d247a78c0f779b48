/** Why an agent cannot go on, as far as its last turn tells, and so what a person may want to do. */

import type { End, Item } from "./items";

export interface Trouble {
  words: string;
  /** Whether signing in at the agent may help. */
  isLogin: boolean;
}

const QUOTA = /quota|credit|billing|payment|usage limit|rate.?limit|too many requests|\b(?:402|429)\b/i;
const LOGIN = /log(?:ged)? ?(?:in|out)\b|sign(?:ed)? ?(?:in|out)\b|authenticat|unauthori[sz]ed|api key|\b401\b/i;
/** ACP's code for "authentication required", which some agents also use for a lack of credit. */
const AUTH_REQUIRED = -32000;

/** Null while nothing is wrong: the last thing that happened is no failed turn, and the agent is there. */
export function troubleOf(last: Item | undefined, isGone: boolean): Trouble | null {
  const error = last?.kind === "end" ? (last as End).error : undefined;
  if (!error && !isGone) return null;
  const message = error?.message ?? "";
  if (QUOTA.test(message)) return { words: "The agent is out of quota.", isLogin: false };
  if (error && (error.code === AUTH_REQUIRED || LOGIN.test(message))) return { words: "The agent is logged out.", isLogin: true };
  if (isGone || error?.data?.stderr !== undefined) return { words: "The agent stopped.", isLogin: false };
  return { words: "The last turn failed.", isLogin: false };
}
