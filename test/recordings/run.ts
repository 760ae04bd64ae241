/** One run of the real program on a recording, with its stored and expected rows. */
import type { Client } from 'pg';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { watchStored, type StoredStream } from '../e2e/runs/stored.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { compare, type Comparison } from './comparison.ts';
import { expectationOf } from './expectation.ts';
import type { Recording, Shape } from './recording.ts';
import { recordedFilter, startReplay, type ReplayServer } from './replay-server.ts';

export interface Run extends AsyncDisposable {
  readonly server: ReplayServer;
  readonly stored: StoredStream;
  readonly client: Client;
  readonly databaseUrl: string;
  start(): Daemon;
  /** Waits until the offset is stored. */
  reaches(daemon: Daemon, offset: number): Promise<void>;
  /** Waits until the seed has stored this number of entries. */
  seeds(daemon: Daemon, entries: number): Promise<void>;
  /** Compares all stored rows with the recording. */
  compared(offsets?: readonly number[]): Promise<Comparison>;
}

export interface RunOptions {
  readonly recording: Recording;
  readonly shape: Shape;
  /** Offset of the seed; absent if history is followed from its beginning. */
  readonly seedOffset?: number;
  /** The ledger end when the run begins. */
  readonly ledgerEnd: number;
  /** Further options of the program. */
  readonly env?: Readonly<Record<string, string>>;
}

const schema = 'ledger';

export async function prepareRun({ recording, shape, seedOffset, ledgerEnd, env: options }: RunOptions): Promise<Run> {
  const database = await createMigratedDatabase([schema]);
  const server = await startReplay(recording, ledgerEnd);
  const stored = await watchStored(database.url);
  const env = {
    ...recordedFilter,
    LEDGER_SHAPE: shape,
    INDEXER_START: seedOffset === undefined ? 'genesis' : 'seed',
    // Batches are small, so that a kill interrupts many of them.
    INDEXER_BATCH_UPDATES: '3',
    INDEXER_RETRY_MAX_DELAY: '200ms',
    ...options,
  };
  return {
    server,
    stored,
    client: stored.client,
    databaseUrl: database.url,
    start: () => startDaemon({ ledgerUrl: server.url, databaseUrl: database.url, schema, env }),
    reaches: async (daemon, offset) => {
      await stored.reaches(daemon, schema, offset);
    },
    seeds: async (daemon, entries) => {
      await waitFor(`the seed stores ${String(entries)} entries`, async () => {
        if (daemon.exit() !== undefined) throw new Error(`the daemon ended:\n${daemon.output().slice(-2_000)}`);
        return (await stored.seeded(schema)) >= entries ? true : undefined;
      });
    },
    compared: (offsets = []) => compare(stored.client, expectationOf(recording, shape, seedOffset, offsets)),
    [Symbol.asyncDispose]: async () => {
      await stored[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}
