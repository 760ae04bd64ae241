/** Skips tests whose tool, right or platform is missing. Each skip has a reason, which the reporter prints. */
declare module 'vitest' {
  interface TaskMeta {
    /** Why the test is skipped. */
    skipReason?: string;
  }
}

interface SkipOptions {
  readonly skip?: boolean;
  readonly meta?: { readonly skipReason: string };
}

/**
 * Options of a test or a suite: `describe('…', needs(noBrowser), …)`.
 * @param reason the missing requirement and how to meet it, such as `needs pgbouncer (PGBOUNCER)`; undefined if it is
 * met
 */
export function needs(reason: string | undefined): SkipOptions {
  return reason === undefined ? {} : { skip: true, meta: { skipReason: reason } };
}

/** The reason for a skip on a platform other than Linux; undefined on Linux. */
export const linuxSkipReason = process.platform === 'linux' ? undefined : 'needs Linux';

/** The reason for a skip if the user is not root; undefined for root. */
export const rootSkipReason = process.getuid?.() === 0 ? undefined : 'needs root';
