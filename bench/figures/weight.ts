/** What a run leaves behind: bytes of the write-ahead log and of tables, and what the server has to do for them later. */
import { measured, type Watched } from './cost.ts';
import { withClient } from '../postgres.ts';

/**
 * When the weight is taken. `settled`: after a vacuum and a checkpoint, which are part of it. `cycle`: at the end of a
 * checkpoint; the vacuum follows and is counted apart, because over old contracts its price depends on the size of the
 * tables and not on the run.
 */
export type WeighWhen = 'settled' | 'cycle';

export interface Weight {
  readonly walBytes: number;
  /** Pages that went into the log whole. */
  readonly fullPages: number;
  /** Of all tables of the schema, TOAST included, beyond those that were there before; the same of their indexes. */
  readonly heapBytes: number;
  readonly indexBytes: number;
  /** Of Postgres until the weight was taken, microseconds; undefined where it cannot be seen. */
  readonly postgresCpu: number | undefined;
  /** Of the vacuum that follows a cycle; undefined when it is part of `postgresCpu`. */
  readonly vacuumCpu: number | undefined;
  /** Checkpoints that ended, the last one included: the run was as many cycles. */
  readonly checkpoints: number;
}

export interface Weighed extends Pick<Watched, 'server'> {
  /** Of the database of the run. */
  readonly url: string;
  readonly schema: string;
  readonly when: WeighWhen;
}

/**
 * To be called when the work begins. The returned function is called when it is over and its sessions have ended, since
 * only then the server has their sums. Nothing else may write to the server meanwhile: the log is that of all databases.
 */
export async function weighed({ server, url, schema, when }: Weighed): Promise<() => Promise<Weight>> {
  const [before, sizes] = [await server.wal(), await sizesOf(url, schema)];
  const cost = measured({ server });
  return async () => {
    await (when === 'settled' ? settle(url) : checkpoint(url));
    const { postgresCpu } = cost();
    const after = await server.wal();
    const vacuumCpu = when === 'settled' ? undefined : await vacuumAfter(url, server);
    const now = await sizesOf(url, schema);
    return {
      walBytes: after.bytes - before.bytes,
      fullPages: after.fullPages - before.fullPages,
      heapBytes: now.heap - sizes.heap,
      indexBytes: now.index - sizes.index,
      postgresCpu,
      vacuumCpu,
      checkpoints: Math.max(1, after.checkpoints - before.checkpoints),
    };
  };
}

async function vacuumAfter(url: string, server: Watched['server']): Promise<number | undefined> {
  const cost = measured({ server });
  await settle(url);
  return cost().postgresCpu;
}

async function settle(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('vacuum');
    await client.query('checkpoint');
  });
}

async function checkpoint(url: string): Promise<void> {
  await withClient(url, (client) => client.query('checkpoint'));
}

/** Bytes; nothing for a schema that is not there yet. */
async function sizesOf(url: string, schema: string): Promise<{ readonly heap: number; readonly index: number }> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ heap: string; index: string }>(
      `select coalesce(sum(pg_table_size(c.oid)), 0) as heap, coalesce(sum(pg_indexes_size(c.oid)), 0) as index
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind in ('r', 'm')`,
      [schema],
    );
    return { heap: Number(rows[0]?.heap), index: Number(rows[0]?.index) };
  });
}
