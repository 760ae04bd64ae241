/** What goes wrong with the sandbox itself, not with what a client asks: those are refusals, see failure.ts. */

/** The address cannot be listened on; keys or users that cannot be; an offset that is not; recorded frames that are none. */
export type SandboxErrorCode = 'SANDBOX_LISTEN' | 'SANDBOX_AUTH' | 'SANDBOX_OFFSET' | 'SANDBOX_RECORDING';

export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  /** What to do, one sentence. */
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
