/** Skips tests whose tool, right or platform is missing. Each skip carries its reason, which the reporter prints. */
declare module 'vitest' {
  interface TaskMeta {
    /** Why the test is skipped. */
    skipReason?: string;
  }
}

interface Skip {
  readonly skip?: boolean;
  readonly meta?: { readonly skipReason: string };
}

/**
 * Options of a test or a suite: `describe('…', needs(noBrowser), …)`.
 * @param reason the requirement, and how to meet it, such as `needs pgbouncer (PGBOUNCER)`; undefined if it is there
 */
export function needs(reason: string | undefined): Skip {
  return reason === undefined ? {} : { skip: true, meta: { skipReason: reason } };
}

/** The reason on a platform other than Linux. */
export const noLinux = process.platform === 'linux' ? undefined : 'needs Linux';

/** The reason for any user but root. */
export const noRoot = process.getuid?.() === 0 ? undefined : 'needs root';
