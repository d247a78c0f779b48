/**
 * JSON-RPC over something that sends and receives texts. Answers find their calls, requests of the other side are
 * handed to the owner, who answers when a person has. Nothing is retried here: that is for whoever knows what it means.
 */

import type { Message } from "../model/types";

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: any, // as the other side gave it
  ) {
    super(message);
  }
}

/** The connection is gone; what was asked may or may not have been done. */
export class Gone extends Error {}

interface Waiting {
  resolve(result: any): void;
  reject(error: Error): void;
}

export class Rpc {
  private calls = new Map<number, Waiting>();
  private next = 0;
  private ended = false;

  constructor(
    private send: (text: string) => void,
    private heard: (message: Message) => void,
  ) {}

  /** Whether nothing can be said any more. */
  get isEnded(): boolean {
    return this.ended;
  }

  call<T = any>(method: string, params: object): Promise<T> {
    if (this.ended) return Promise.reject(new Gone("not connected"));
    const id = this.next++;
    return new Promise<T>((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  notify(method: string, params: object): void {
    if (!this.ended) this.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  refuse(id: unknown, code: number, message: string): void {
    if (!this.ended) this.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
  }

  receive(text: string): void {
    let message: Message;
    try {
      message = JSON.parse(text);
    } catch {
      return; // a hub that sends no JSON is no hub; the socket's owner notices by silence
    }
    if (message.method !== undefined) return this.heard(message);
    const waiting = this.calls.get(message.id as number);
    if (!waiting) return;
    this.calls.delete(message.id as number);
    if (message.error) waiting.reject(new RpcError(message.error.code, message.error.message, (message.error as any).data));
    else waiting.resolve(message.result);
  }

  end(): void {
    this.ended = true;
    for (const waiting of this.calls.values()) waiting.reject(new Gone("the connection was lost"));
    this.calls.clear();
  }
}
