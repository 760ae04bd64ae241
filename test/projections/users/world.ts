/** A stream with projections that users add, read by a role that the test creates and drops. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectionCommand } from '../../../src/cli/projections/projection.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { ProjectionJob } from '../../../src/store/projections/projection-job.ts';
import { HistoryWorld } from '../../history/history-run.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { turnJitOff, withDatabase } from '../projected.ts';

/** Rows of transfers, from the view over a built-in projection. */
export const transfersSql = `-- transfers by sender
select t."offset", t.node_id, t.sender, t.receiver, t.instrument_id, t.amount, date_trunc('day', t.record_time) as day
  from explore.token_transfers t
 where t."offset" > :from and t."offset" <= :to`;

/** Rows with contents of contracts. */
export const contentsSql = `select e."offset", e.node_id, e.contract_id, e.payload, e.parties
  from explore.events e where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to;`;

export class UserWorld {
  readonly world: HistoryWorld;
  readonly role = `projecting_${randomBytes(4).toString('hex')}`;
  readonly folder = mkdtempSync(join(tmpdir(), 'projection-'));

  private constructor(world: HistoryWorld) {
    this.world = world;
  }

  /** @param filterOf further options of the indexer, for the parties of the ledger */
  static async open(
    updates: number,
    filterOf: (parties: readonly string[]) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<UserWorld> {
    const created = new UserWorld(await HistoryWorld.open(updates));
    await turnJitOff(created.url);
    await created.world.index('ledger', {
      LEDGER_INTERFACES: 'tokens',
      INDEXER_START: 'genesis',
      INDEXER_PROJECTIONS: 'off',
      ...filterOf(created.world.sandbox.ledger.localParties()),
    });
    await runCommand(grantReaderCommand, [created.role, '--shared-database'], created.world.env());
    return created;
  }

  get url(): string {
    return this.world.database.url;
  }

  async close(): Promise<void> {
    await this.world.close();
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${this.role}`);
    rmSync(this.folder, { recursive: true });
  }

  /** Runs `projection` with these words; resolves to its output. */
  async projection(...argv: readonly string[]): Promise<string> {
    const output: string[] = [];
    await runCommand(projectionCommand, argv, this.world.env(), { print: (line) => void output.push(line) });
    return output.join('\n');
  }

  file(sql: string): string {
    const path = join(this.folder, `${randomBytes(4).toString('hex')}.sql`);
    writeFileSync(path, sql);
    return path;
  }

  add(name: string, sql: string, ...options: readonly string[]): Promise<string> {
    return this.projection('add', name, '--sql', this.file(sql), '--role', this.role, ...options);
  }

  check(sql: string): Promise<string> {
    return this.projection('check', this.file(sql), '--role', this.role);
  }

  /** Runs a job until it has nothing to do; resolves to the names of failed projections. */
  async fill(kinds: 'all' | 'built-in' = 'all'): Promise<readonly string[]> {
    return withDatabase(this.url, async (database) => {
      const job = new ProjectionJob(database, kinds);
      const failed: string[] = [];
      for (let step = await job.step(); step !== undefined && step !== 'off'; step = await job.step()) {
        if (step.kind === 'failed') failed.push(step.name);
      }
      return failed;
    });
  }

  /** Rows of a view of schema `derived`, with stored rows and computed from the history. */
  async bothRows(name: string): Promise<{ readonly stored: readonly string[]; readonly computed: readonly string[] }> {
    const linesOf = async (settings: string): Promise<readonly string[]> => {
      const url = new URL(this.url);
      // The rows must not depend on the time zone of a reader.
      url.searchParams.set('options', `-c timezone=Asia/Tokyo ${settings}`);
      const rows = await query(url.href, `select to_jsonb(t)::text as line from derived.${name} t order by 1`);
      return rows.map(({ line }) => String(line));
    };
    return { stored: await linesOf(''), computed: await linesOf('-c ledger_indexer.projections=off') };
  }

  /** Number of rows in the table of a version. */
  async storedCount(name: string): Promise<number> {
    return Number((await this.world.row(`select count(*)::int as count from derived."${name}"`))['count']);
  }
}
