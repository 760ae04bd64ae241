/** Fills the projections of a history before its statements are measured, or removes them. */
import { setTimeout } from 'node:timers/promises';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { dropStep, ProjectionJob } from '../../src/store/projections/projection-job.ts';
import { schema } from '../postgres.ts';

const statementTimeoutMs = 3_600_000;

/** The time that each projection took, and its size. */
export interface FilledProjection {
  readonly name: string;
  readonly rows: number;
  readonly seconds: number;
  readonly bytes: number;
}

/** Fills all projections up to the checkpoint, without pauses. Without work to do, `seconds` is 0. */
export function fillProjections(url: string): Promise<readonly FilledProjection[]> {
  return withDatabase(url, async (database) => {
    const job = new ProjectionJob(database);
    const seconds = new Map<string, number>();
    for (;;) {
      const step = await job.step();
      if (step === 'off') break;
      if (step === undefined) {
        // Before the first range, the job waits for transactions of other sessions, such as autovacuum.
        if (seconds.size > 0 || (await areFilled(database))) break;
        await setTimeout(100);
        continue;
      }
      if (step.kind === 'failed') throw step.error;
      if (step.kind === 'filled') seconds.set(step.name, (seconds.get(step.name) ?? 0) + step.seconds);
    }
    return sizesOf(database, seconds);
  });
}

export function removeProjections(url: string): Promise<void> {
  return withDatabase(url, async (database) => {
    while ((await dropStep(database)) !== 'off');
  });
}

function areFilled(database: Database): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rowCount } = await client.query('select from projections where not is_filled');
    return rowCount === 0;
  });
}

function sizesOf(database: Database, seconds: ReadonlyMap<string, number>): Promise<readonly FilledProjection[]> {
  return database.transaction(async (client) => {
    const { rows: projections } = await client.query<{ name: string; bytes: string }>(
      `select p.name, pg_total_relation_size(to_regclass('projected_' || p.name)) as bytes from projections p order by 1`,
    );
    const filled: FilledProjection[] = [];
    for (const { name, bytes } of projections) {
      await client.query(`analyze projected_${name}`);
      const { rows } = await client.query<{ rows: string }>(`select count(*) as rows from projected_${name}`);
      filled.push({ name, rows: Number(rows[0]?.rows), seconds: seconds.get(name) ?? 0, bytes: Number(bytes) });
    }
    return filled;
  });
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, schema, statementTimeoutMs, applicationName: 'bench projections' });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
