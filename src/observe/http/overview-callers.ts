/**
 * Callers of `/status`, `/events` and `/update`, which show ids, templates and numbers of all parties. Where roles are limited to parties, row
 * security hides these from some readers, so a caller from elsewhere shows a token of a role that reads everything.
 */
import type { IncomingMessage } from 'node:http';
import { notFromHere } from './local-caller.ts';
import type { ReaderTokens } from './reader-tokens.ts';

export interface OverviewAccess {
  readonly tokens: Pick<ReaderTokens, 'check'>;
  /** Roles that are limited to parties. @throws if the database cannot be asked */
  readonly limitedRoles: () => Promise<readonly string[]>;
}

export interface OverviewRefusal {
  readonly status: number;
  readonly error: string;
}

/** Why a request is refused; undefined: it is answered. Never rejects. */
export async function refusedOverview(
  { tokens, limitedRoles }: OverviewAccess,
  request: IncomingMessage,
): Promise<OverviewRefusal | undefined> {
  if (notFromHere(request) === undefined) return undefined;
  const limited = await limitedRoles().catch(() => undefined);
  if (limited === undefined) {
    return {
      status: 503,
      error: 'whether roles are limited to parties cannot be read from the database now: try again',
    };
  }
  if (limited.length === 0) return undefined;
  const shown = await tokens.check(request);
  if (shown === undefined) {
    return {
      status: 401,
      error: 'roles are limited to parties here: from elsewhere show a token of a role that reads everything',
    };
  }
  if ('status' in shown) return shown;
  if (!limited.includes(shown.token.role)) return undefined;
  return { status: 403, error: 'this shows all parties, and the role of this token is limited to some' };
}
