/**
 * The only error type of the package. The indexer reports it under the same code, whose exit code is in the indexer's
 * catalogue.
 */

export type LakeErrorCode =
  'USAGE' | 'EXPORT_REFUSED' | 'EXPORT_BUSY' | 'EXPORT_UNWRITABLE' | 'EXPORT_NOT_READY' | 'EXPORT_STOPPED';

export interface LakeErrorOptions {
  readonly code: LakeErrorCode;
  /** The remedy, as one imperative sentence. */
  readonly remedy: string;
  readonly cause?: unknown;
}

export class LakeError extends Error {
  override readonly name = 'LakeError';
  readonly code: LakeErrorCode;
  readonly remedy: string;

  constructor(message: string, { code, remedy, cause }: LakeErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.remedy = remedy;
  }
}

/** Error for a lake that cannot be used. */
export function refusedBy(problem: string, remedy: string, cause?: unknown): LakeError {
  return new LakeError(`the lake cannot be used: ${problem}`, { code: 'EXPORT_REFUSED', remedy, cause });
}
