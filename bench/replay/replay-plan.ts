/** Messages between the replay server and the measuring process. */

export interface ReplayStream {
  /** Path of a recording. */
  readonly path: string;
  /** Number of its frames that are used in this run. */
  readonly frames: number;
}

export interface ReplayPlan {
  /** Frame k is the update at offset k. If absent, the update stream is idle. */
  readonly updates?: ReplayStream;
  /** Sends all entries, then ends the stream cleanly. */
  readonly activeContracts?: ReplayStream;
  readonly ledgerEnd: number;
  /** Updates per second; default: as fast as the client reads. */
  readonly updatesPerSecond?: number;
  /**
   * Offset at which the ledger ends, without sending updates, until `release`. Afterwards its end follows the sent
   * updates.
   */
  readonly heldAt?: number;
}

/** A message to the measuring process. Times are nanoseconds of the system-wide monotonic clock (`process.hrtime`). */
export type ReplayMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'first'; readonly at: bigint }
  | { readonly kind: 'last'; readonly at: bigint }
  /** Only in paced runs, after the last frame: microseconds since `at` of 'first', by frame. */
  | { readonly kind: 'sent'; readonly from: number; readonly microseconds: Float64Array };
