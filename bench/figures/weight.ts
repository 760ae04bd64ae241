/**
 * Weight of a run: bytes of the write-ahead log and of tables, and the work of the server that follows because of them.
 */
import { startCost, type WatchedRun } from './cost.ts';
import { withClient } from '../postgres.ts';

/**
 * Time at which the weight is measured. `settled`: after a vacuum and a checkpoint, whose work is included. `cycle`: at
 * the end of a checkpoint. The vacuum follows and is measured separately, because over old contracts its cost depends
 * on the size of the tables and not on the run.
 */
export type MeasureMoment = 'settled' | 'cycle';

export interface Weight {
  readonly walBytes: number;
  /** Number of pages that were logged completely. */
  readonly fullPages: number;
  /** Growth during the run of all tables of the schema, including TOAST; the next field is that of their indexes. */
  readonly heapBytes: number;
  readonly indexBytes: number;
  /** CPU time of Postgres until the weight was measured, microseconds; undefined if it cannot be read. */
  readonly postgresCpu: number | undefined;
  /** CPU time of the vacuum after a cycle; undefined if it is part of `postgresCpu`. */
  readonly vacuumCpu: number | undefined;
  /** Number of completed checkpoints, including the last one. It is the number of cycles of the run. */
  readonly checkpoints: number;
}

export interface WeighedRun extends Pick<WatchedRun, 'server'> {
  /** URL of the database of the run. */
  readonly url: string;
  readonly schema: string;
  readonly when: MeasureMoment;
}

/**
 * Starts to measure; call it when the work begins. Call the returned function when the work is over and its sessions
 * have ended, because only then does the server have their statistics. Meanwhile no other program may write to the
 * server, because all databases share the log.
 */
export async function startWeighing({
  server,
  url,
  schema,
  when: measureMoment,
}: WeighedRun): Promise<() => Promise<Weight>> {
  const [walBefore, sizes] = [await server.wal(), await sizesOf(url, schema)];
  const cost = startCost({ server });
  return async () => {
    await (measureMoment === 'settled' ? settle(url) : checkpoint(url));
    const { postgresCpu } = cost();
    const walAfter = await server.wal();
    const vacuumCpu = measureMoment === 'settled' ? undefined : await vacuumAfter(url, server);
    const now = await sizesOf(url, schema);
    return {
      walBytes: walAfter.bytes - walBefore.bytes,
      fullPages: walAfter.fullPages - walBefore.fullPages,
      heapBytes: now.heap - sizes.heap,
      indexBytes: now.index - sizes.index,
      postgresCpu,
      vacuumCpu,
      checkpoints: Math.max(1, walAfter.checkpoints - walBefore.checkpoints),
    };
  };
}

async function vacuumAfter(url: string, server: WatchedRun['server']): Promise<number | undefined> {
  const cost = startCost({ server });
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

/** Sizes in bytes; 0 for a schema that does not exist yet. */
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
