/** Messages between the replay server and the measuring process. */

export interface ReplayStream {
  /** Path of a recording. */
  readonly path: string;
  /** Number of its frames in this run. */
  readonly frames: number;
}

export interface ReplayPlan {
  /** Frame k is the update at offset k. Without it the update stream is idle. */
  readonly updates?: ReplayStream;
  /** All entries, then a clean end of the stream. */
  readonly activeContracts?: ReplayStream;
  readonly ledgerEnd: number;
  /** Updates per second; by default as fast as the client reads. */
  readonly updatesPerSecond?: number;
  /** The ledger ends here and sends nothing until `release`; afterwards its end follows the sent updates. */
  readonly heldAt?: number;
}

/** Times are nanoseconds of the system-wide monotonic clock (`process.hrtime`), which all processes share. */
export type ReplayMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'first'; readonly at: bigint }
  | { readonly kind: 'last'; readonly at: bigint }
  /** Paced runs only, after the last frame: microseconds since `at` of 'first', by frame. */
  | { readonly kind: 'sent'; readonly from: number; readonly microseconds: Float64Array };
