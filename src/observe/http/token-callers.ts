/**
 * Callers that send a token: a reader token, or a token of the participant if those are accepted. Every endpoint with
 * tokens uses this check, so that all of them accept the same tokens.
 */
import type { IncomingMessage } from 'node:http';
import type { TokenEnd, ReaderToken } from '../../reader-token.ts';
import { isJsonWebToken, type KnownCaller, type NodeTokenEnd, type NodeTokens } from './node-tokens.ts';
import type { ReaderTokens, TokenRefusal } from './reader-tokens.ts';

/** Calls back once, when access ends, and returns a function that stops the watch. */
type Watch<End> = (onEnd: (end: End) => void) => () => void;

export type TokenCaller =
  | { readonly token: ReaderToken; readonly secret: string; readonly watch: Watch<TokenEnd> }
  | { readonly node: KnownCaller; readonly role: string; readonly watch: Watch<NodeTokenEnd> };

/** Tokens of the participant, and the role with which their users read. */
export interface NodeAccess {
  readonly tokens: NodeTokens;
  readonly role: string;
}

export class TokenCallers {
  readonly #readers: ReaderTokens;
  readonly #node: NodeAccess | undefined;

  /** @param node undefined if tokens of the participant are not accepted */
  constructor(readers: ReaderTokens, node: NodeAccess | undefined) {
    this.#readers = readers;
    this.#node = node;
  }

  /** The kinds of tokens that are accepted, after `send`. */
  get kinds(): string {
    return this.#node === undefined ? 'a reader token' : 'a reader token or a token of the participant';
  }

  /** Checks the token of a request. Resolves to undefined if the request has no token. Never rejects. */
  async check(request: IncomingMessage): Promise<TokenCaller | TokenRefusal | undefined> {
    const [, secret = ''] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    if (this.#node !== undefined && isJsonWebToken(secret)) return this.#checkNode(this.#node, secret);
    const tokenCheck = await this.#readers.check(request);
    if (tokenCheck === undefined || 'status' in tokenCheck) return tokenCheck;
    return { ...tokenCheck, watch: (onEnd: (end: TokenEnd) => void) => this.#readers.watch(tokenCheck.secret, onEnd) };
  }

  async #checkNode({ tokens, role }: NodeAccess, secret: string): Promise<TokenCaller | TokenRefusal> {
    const caller = await tokens.check(secret);
    if ('status' in caller) return caller;
    return { node: caller, role, watch: (onEnd: (end: NodeTokenEnd) => void) => tokens.watch(secret, caller, onEnd) };
  }
}
