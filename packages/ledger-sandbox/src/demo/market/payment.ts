/** A payment from one user to another, with any instrument. */
import type { Instrument } from '../templates/instruments.ts';

export interface Payment {
  readonly instrument: Instrument;
  readonly sender: string;
  readonly receiver: string;
  readonly units: bigint;
  readonly inputs: readonly string[];
  readonly reason: string;
  readonly oneStep: boolean;
}

/** How long a transfer waits for its receiver, microseconds. */
export const executeWithin = 900_000_000;
