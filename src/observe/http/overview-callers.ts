/**
 * Access control of `/status`, `/events` and `/update`, which return ids, templates and numbers of all parties. If
 * roles are limited to parties, row security hides these from some readers. In that case, a caller on another machine
 * needs a token of a role that reads everything, or of a user of the participant that may read as any party.
 */
import type { IncomingMessage } from 'node:http';
import { remoteCallerReason } from './local-caller.ts';
import type { TokenCallers } from './token-callers.ts';

export interface OverviewAccess {
  readonly callers: Pick<TokenCallers, 'check'>;
  /** Roles that are limited to parties. @throws if the database cannot be queried */
  readonly limitedRoles: () => Promise<readonly string[]>;
}

export interface OverviewRefusal {
  readonly status: number;
  readonly error: string;
}

/** The reason why a request is refused; undefined if it is permitted. Never rejects. */
export async function overviewRefusal(
  { callers, limitedRoles }: OverviewAccess,
  request: IncomingMessage,
): Promise<OverviewRefusal | undefined> {
  if (remoteCallerReason(request) === undefined) return undefined;
  const limitedRoleNames = await limitedRoles().catch(() => undefined);
  if (limitedRoleNames === undefined) {
    return {
      status: 503,
      error: 'cannot read from the database whether roles are limited to parties: try again',
    };
  }
  if (limitedRoleNames.length === 0) return undefined;
  const tokenCheck = await callers.check(request);
  if (tokenCheck === undefined) {
    return {
      status: 401,
      error: 'roles are limited to parties: from other machines, send a token of a role that reads everything',
    };
  }
  if ('status' in tokenCheck) return tokenCheck;
  const readsAll =
    'node' in tokenCheck ? tokenCheck.node.rights.readsAll : !limitedRoleNames.includes(tokenCheck.token.role);
  if (readsAll) return undefined;
  const limited = 'node' in tokenCheck ? 'user' : 'role';
  return {
    status: 403,
    error: `this endpoint covers all parties, but the ${limited} of this token is limited to some`,
  };
}
