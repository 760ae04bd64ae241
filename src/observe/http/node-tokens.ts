/**
 * Tokens of the participant, which clients send instead of a reader token. The rights of their users are requested from
 * the participant with the token itself. Answers are used for a limited time, and nothing is read without an answer.
 * Only the hash of a token is kept, except while its stream is open, because the rights are requested again with the
 * token.
 */
import { elapsed } from '../../config/pause.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import { hashOf } from '../../reader-token.ts';
import type { TokenRefusal } from './reader-tokens.ts';

/** A user of the participant, and how long what is known about it may be used. */
export interface NodeCaller {
  readonly user: string;
  readonly rights: NodeRights;
  /** Expiry of the token, milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An answer that may be used until a time, by `performance.now()`. */
export interface KnownCaller extends NodeCaller {
  readonly until: number;
}

/** Verifies the token, and requests the rights of its user. Never rejects. */
export type AskNode = (token: string) => Promise<NodeCaller | TokenRefusal>;

/**
 * Why a stream ends before its client disconnects. `changed`: the user has other rights now. `unconfirmed`: its
 * rights could not be requested again in time.
 */
export type NodeTokenEnd = 'expired' | 'revoked' | 'changed' | 'unconfirmed';

const maxKept = 1_000;
/** Maximum number of requests that wait for an answer; further requests are refused with a 503. */
const maxWaiting = 100;
/** Share of the time of an answer after which a stream requests the rights again. The rest is for repeated attempts. */
const askAgainShare = 0.7;
/** Share of that time between two attempts. */
const retryShare = 0.05;
const longestTimeoutMs = 2 ** 31 - 1;

/** Whether the text has the form of a JSON Web Token. Other texts are not verified. */
export function isJsonWebToken(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
}

export class NodeTokens {
  readonly #ask: AskNode;
  readonly #keepMs: number;
  readonly #known = new Map<string, KnownCaller>();
  readonly #asking = new Map<string, Promise<KnownCaller | TokenRefusal>>();

  /** @param keepMs how long an answer is used, at most; never longer than the token is valid */
  constructor(ask: AskNode, keepMs: number) {
    this.#ask = ask;
    this.#keepMs = keepMs;
  }

  /** Checks a token. Never rejects. */
  async check(token: string): Promise<KnownCaller | TokenRefusal> {
    const known = this.#known.get(keyOf(token));
    return known !== undefined && isUsable(known) ? known : this.#askAgain(token);
  }

  /** Calls `onEnd` once, when the rights of a stream end. @returns a function that ends the watch */
  watch(token: string, caller: KnownCaller, onEnd: (end: NodeTokenEnd) => void): () => void {
    const closeController = new AbortController();
    const { signal } = closeController;
    void this.#report(token, caller, signal, onEnd);
    return () => closeController.abort();
  }

  async #report(
    token: string,
    caller: KnownCaller,
    stop: AbortSignal,
    onEnd: (end: NodeTokenEnd) => void,
  ): Promise<void> {
    const end = await this.#endOf(token, caller, stop);
    if (!stop.aborted) onEnd(end);
  }

  async #endOf(token: string, opened: KnownCaller, stop: AbortSignal): Promise<NodeTokenEnd> {
    let confirmed = opened;
    for (let askAt = this.#askTime(opened); ;) {
      await elapsed(Math.min(askAt - performance.now(), timeLeft(confirmed)), stop);
      if (stop.aborted) break;
      if (Date.now() >= confirmed.expiresAt) return 'expired';
      if (performance.now() >= confirmed.until) return 'unconfirmed';
      const answer = await Promise.race([this.#askAgain(token), this.#late(confirmed, stop)]);
      if (answer === undefined) continue;
      askAt = performance.now() + retryShare * this.#keepMs;
      if ('status' in answer && answer.status !== 503) return Date.now() < confirmed.expiresAt ? 'revoked' : 'expired';
      if ('status' in answer) continue;
      if (answer.rights.key !== opened.rights.key || answer.user !== opened.user) return 'changed';
      confirmed = answer;
      askAt = this.#askTime(answer);
    }
    return 'unconfirmed';
  }

  /** Resolves to undefined when the answer may no longer be used. */
  async #late(confirmed: KnownCaller, stop: AbortSignal): Promise<undefined> {
    await elapsed(timeLeft(confirmed), stop);
  }

  #askTime({ until }: KnownCaller): number {
    return until - (1 - askAgainShare) * this.#keepMs;
  }

  #askAgain(token: string): Promise<KnownCaller | TokenRefusal> {
    const key = keyOf(token);
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    if (this.#asking.size >= maxWaiting) {
      return Promise.resolve({ status: 503, error: 'too many tokens are being checked: try again' });
    }
    const asking = this.#answerOf(token, key).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #answerOf(token: string, key: string): Promise<KnownCaller | TokenRefusal> {
    // Counted from before the request, because the rights may change while the answer is on its way.
    const until = performance.now() + this.#keepMs;
    const answer = await this.#ask(token);
    this.#known.delete(key);
    if ('status' in answer) return answer;
    const known = { ...answer, until };
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKept && oldest !== undefined) this.#known.delete(oldest);
    return isUsable(known) ? known : { status: 503, error: 'the participant answered too late: try again' };
  }
}

function keyOf(token: string): string {
  return hashOf(token).toString('base64url');
}

function isUsable({ until, expiresAt }: KnownCaller): boolean {
  return performance.now() < until && Date.now() < expiresAt;
}

/** Milliseconds until the answer may no longer be used. */
function timeLeft({ until, expiresAt }: KnownCaller): number {
  return Math.min(until - performance.now(), expiresAt - Date.now(), longestTimeoutMs);
}
