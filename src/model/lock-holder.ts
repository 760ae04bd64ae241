/** Who has the right to write, as Postgres names its sessions. */

/** The session that has the right to write. Postgres shows the last two to its own role and to members of pg_monitor only. */
export interface LockHolder {
  readonly pid: number;
  readonly role: string | null;
  /** `application_name`, as the session calls itself. */
  readonly application: string | null;
  /** Null for a local socket, or where it is not shown. */
  readonly address: string | null;
  /** When its session began; null where it is not shown. */
  readonly since: string | null;
}

/** The holder in words, for messages. */
export function holderText({ pid, role, application, address, since }: LockHolder): string {
  const from = since === null ? '' : `, from ${address ?? 'a local socket'}, since ${since}`;
  return `session ${String(pid)} of role "${role ?? 'not known'}", application "${application ?? ''}"${from}`;
}
