/** Errors that prevent the embedded server from running. */

/** The codes mean: no programs for this machine, a folder that cannot be used, a program that failed. */
export type ServerErrorCode = 'EMBEDDED_POSTGRES_UNAVAILABLE' | 'EMBEDDED_POSTGRES_DATA' | 'EMBEDDED_POSTGRES_FAILED';

export class ServerError extends Error {
  override readonly name = 'ServerError';
  readonly code: ServerErrorCode;
  /** The remedy, in one sentence. */
  readonly remedy: string;

  constructor(
    message: string,
    options: { readonly code: ServerErrorCode; readonly remedy: string; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.remedy = options.remedy;
  }
}
