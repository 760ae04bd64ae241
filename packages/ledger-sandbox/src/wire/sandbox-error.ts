/** Errors of the sandbox itself. Errors of requests of clients are refusals, see failure.ts. */

/** Causes: an address that cannot be listened on, invalid keys or users, an invalid offset, invalid recorded frames. */
export type SandboxErrorCode = 'SANDBOX_LISTEN' | 'SANDBOX_AUTH' | 'SANDBOX_OFFSET' | 'SANDBOX_RECORDING';

export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  /** The remedy, in one sentence. */
  readonly remedy: string;

  constructor(
    message: string,
    options: { readonly code: SandboxErrorCode; readonly remedy: string; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.remedy = options.remedy;
  }
}
