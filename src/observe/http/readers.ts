/** With whose rights `/changes` and `/api` read for a caller. */
import type { IncomingMessage } from 'node:http';
import type { NodeRights } from '../../model/push/node-rights.ts';
import type { TokenEnd } from '../../reader-token.ts';
import { isNamedOrigin } from './cors.ts';
import { foreignOriginReason, remoteCallerReason } from './local-caller.ts';
import type { NodeTokenEnd } from './node-tokens.ts';
import type { TokenCallers } from './token-callers.ts';

/** Why the access of a caller ends. */
export type AccessEnd = TokenEnd | NodeTokenEnd;

/** The caller of a request: the role with whose rights it reads, or the reason why it is refused. */
export type Reader =
  | {
      readonly role: string | null;
      /** Set if the caller is a user of the participant, whose parties are not those of the role. */
      readonly rights?: NodeRights;
      /** Id of the token or of the user, or {@link localReader}. */
      readonly reader: string;
      /**
       * Calls back once when access ends, and returns a function that stops the watch. Undefined if access never ends.
       */
      readonly watch?: (onEnd: (end: AccessEnd) => void) => () => void;
    }
  | { readonly refused: 401 | 403 | 503; readonly reason: string };

/**
 * The name of all callers without a token. They count as one reader, and the number of their streams has no separate
 * limit.
 */
export const localReader = '';

/**
 * A client with a valid token is served from any address, and one with an invalid token from none. A client without a
 * token has to be on this machine, and must not be a page of another site.
 * @param origins pages that may read from this machine
 */
export async function readerOf(
  request: IncomingMessage,
  callers: TokenCallers,
  origins: readonly string[],
): Promise<Reader> {
  const caller = await callers.check(request);
  if (caller === undefined) {
    const reason =
      remoteCallerReason(request) ?? (isNamedOrigin(request, origins) ? undefined : foreignOriginReason(request));
    return reason === undefined
      ? { role: null, reader: localReader }
      : { refused: 403, reason: `${reason}; from other machines, send a token` };
  }
  if ('status' in caller) return { refused: caller.status, reason: caller.error };
  const { watch } = caller;
  if ('token' in caller) return { role: caller.token.role, reader: caller.token.id, watch };
  const { user, rights } = caller.node;
  return { role: caller.role, rights, reader: `node ${user}`, watch };
}
