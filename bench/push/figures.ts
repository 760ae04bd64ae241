/** What `bench:push` measures with, and what it tells. */
import type { Server } from '../postgres.ts';
import type { Profile } from '../replay/profiles.ts';
import type { Recording } from '../replay/recording.ts';

export interface PushOptions {
  readonly server: Server;
  readonly profile: Profile;
  readonly recording: Recording;
  /** Of the profile, behind the opening ones; the recording has as many. */
  readonly transactions: number;
  /** Clients that listen at /changes at the same time. */
  readonly clients: number;
}

/** The report; undefined where the part that measures it was left out. */
export interface PushFigures {
  /** To one webhook, from a history that is there already. */
  readonly deliveries_per_s?: number;
  readonly sse_clients?: number;
  /** Events that one receiver or client should have got and did not, of all of them. */
  readonly lost: number;
  /** Events that came before an earlier one of the same contract, or of the same stream. */
  readonly reordered: number;
  /** From handing an update to the ledger's socket until a client has read its last event, milliseconds; of all clients and updates. */
  readonly p99_ms?: number;
}

/** One thing that is measured: leaves nothing behind, and may tell more than the report has a name for. */
export type PushPart = (options: PushOptions) => Promise<PushFigures>;

/** What is lost or out of order anywhere counts. */
export function merged(parts: readonly PushFigures[]): PushFigures {
  const sum = (of: 'lost' | 'reordered'): number => parts.reduce((total, part) => total + part[of], 0);
  return Object.assign({}, ...parts, { lost: sum('lost'), reordered: sum('reordered') }) as PushFigures;
}
