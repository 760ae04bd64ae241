/** A place for updates that is no database: it keeps what a session commits, and fails where it is told to. */
import { Batch } from '../../src/model/batch.ts';
import { Dictionary } from '../../src/model/dictionary.ts';
import { BinaryRows } from '../../src/store/write/copy-binary.ts';
import type { StoreBatch, StoreSession } from '../../src/store/write/store.ts';

/** One commit: the checkpoint before and after it, and how many updates of which kind it held. */
export interface Commit {
  readonly from: number;
  readonly to: number;
  readonly updates: Readonly<Record<string, number>>;
}

export interface MemorySink {
  readonly session: StoreSession;
  /** In the order of commits. */
  readonly commits: readonly Commit[];
  /** Updates that were set aside, by offset. */
  readonly setAside: readonly number[];
  /** Updates that came after later ones and were offered to it, by offset. */
  readonly late: readonly number[];
  /** Called before each commit with its number, from 1 on; what it throws is what the write fails with. */
  before: (commit: number, batch: StoreBatch) => Promise<void> | void;
}

const empty = { templates: [], choices: [], synchronizers: [], implementations: [] };

/** A write waits for the one before it, as in Postgres, and fails with it. */
export function memorySink(): MemorySink {
  const commits: Commit[] = [];
  const setAside: number[] = [];
  const late: number[] = [];
  let writes = 0;
  const refuse = (): never => {
    throw new Error('not a part of following');
  };
  const session = {
    dictionary: new Dictionary(empty),
    newBatch(offset: number) {
      return new Batch(new BinaryRows(), session.dictionary, 1, offset);
    },
    async writeBatch(batch: StoreBatch, from: number, predecessor?: Promise<unknown>) {
      writes += 1;
      await Promise.all([sink.before(writes, batch), predecessor]);
      commits.push({ from, to: batch.offset, updates: Object.fromEntries(batch.updatesByKind) });
      return new Map<string, number>();
    },
    explained: (failure: Error) => Promise.resolve(failure),
    quarantine({ offset }: { readonly offset: number }) {
      setAside.push(offset);
      return Promise.resolve();
    },
    storeLate({ offset }: { readonly offset: number }) {
      late.push(offset);
      return Promise.resolve(false);
    },
    noteParticipant: refuse,
    beginSeed: refuse,
    writeSeed: refuse,
    newestActivation: refuse,
    publishSeed: refuse,
  };
  const sink: MemorySink = {
    session: session as unknown as StoreSession,
    commits,
    setAside,
    late,
    before: () => undefined,
  };
  return sink;
}
