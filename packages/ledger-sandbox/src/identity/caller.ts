/**
 * The sender of a request, and the rights of its user. Rights come from user management, not from the token. Acting as
 * a party implies reading as it. Administering implies neither.
 */
import { permissionDenied } from '../wire/failure.ts';

/** One right that a request needs. `authenticated`: any user. */
export type RequiredRight =
  | 'authenticated'
  | 'admin'
  | 'read-as-any-party'
  | { readonly readAs: string }
  | { readonly actAs: string }
  | { readonly executeAs: string }
  /** The right to manage the users of this identity provider (empty for the default one). */
  | { readonly administer: string };

export interface Caller {
  /** Empty if the participant has no authorization. */
  readonly userId: string;
  /** Whether the user has the right now. */
  may(requiredRight: RequiredRight): boolean;
  /** Throws ACCESS_TOKEN_EXPIRED or STALE_STREAM_AUTHORIZATION once a running stream has to end. */
  assertCurrent(): void;
  /** The part of `assertCurrent` that also ends an idle stream. Throws STALE_STREAM_AUTHORIZATION. */
  assertRights(): void;
  /** Milliseconds until `assertRights` checks again; Infinity if it never does. */
  rightsCheckInMs(): number;
}

/** The caller on a participant without authorization: everything is allowed, and tokens are ignored. */
export const anonymousCaller: Caller = {
  userId: '',
  may: () => true,
  assertCurrent: () => undefined,
  assertRights: () => undefined,
  rightsCheckInMs: () => Infinity,
};

/** Throws the redacted 403 if a right is missing. */
export function require(caller: Caller, requiredRights: readonly RequiredRight[]): void {
  if (requiredRights.every((requiredRight) => caller.may(requiredRight))) return;
  throw permissionDenied();
}
