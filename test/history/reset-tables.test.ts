/**
 * `reset --to` leaves every table in the state of an indexer that never went past the offset. The compared tables come
 * from the catalog: a table without a rule fails, and so does a table that the test history leaves empty.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { projectedTable, projectionNames } from '../../src/model/stream.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { accountTemplate } from '../../packages/ledger-sandbox/src/contracts/keyed-model.ts';
import { assign, authorize, unassign } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { query } from '../support/database.ts';
import { created, transaction } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';
import { runVerify } from '../verify/verify-run.ts';
import { HistoryWorld } from './history-run.ts';
import { brokenRules } from './rules.ts';

/**
 * `cut`: rows after the offset are deleted. `kept`: rows with names and numbers that are assigned once, redactions, and
 * rows of projections, which are removed in the background. `added`: the reset adds rows.
 * A new table needs a line here, and a check of src/store/history/reset.ts.
 */
const rules: Readonly<Record<string, 'cut' | 'kept' | 'added'>> = {
  active_counts: 'cut',
  activity_hourly: 'cut',
  archives: 'cut',
  batches: 'cut',
  choices: 'kept',
  completion_ranges: 'cut',
  completions: 'cut',
  contract_parties: 'kept',
  contracts: 'cut',
  coverage: 'cut',
  ended: 'cut',
  event_parties: 'kept',
  exercises: 'cut',
  filter_interfaces: 'kept',
  participants: 'cut',
  projections: 'kept',
  projection_changes: 'added',
  user_projections: 'kept',
  ...Object.fromEntries([...projectionNames.map(projectedTable), 'history_changes'].map((name) => [name, 'kept'])),
  filter_additions: 'kept',
  instrument_labels: 'kept',
  interface_views: 'cut',
  live: 'cut',
  packages: 'kept',
  party_labels: 'kept',
  omitted_fields: 'kept',
  quarantine: 'cut',
  reassignments: 'cut',
  redacted_contracts: 'kept',
  redacted_exercises: 'kept',
  redactions: 'kept',
  retention_holds: 'kept',
  reader_tokens: 'kept',
  node_sessions: 'kept',
  webhook_dead_letters: 'cut',
  webhook_secrets: 'kept',
  webhooks: 'cut',
  jobs: 'kept',
  schema_migrations: 'kept',
  stream: 'cut',
  submitters: 'kept',
  synchronizers: 'kept',
  template_interfaces: 'kept',
  templates: 'kept',
  topology_events: 'cut',
  typed_columns: 'kept',
  typed_views: 'kept',
  updates: 'cut',
  verifications: 'cut',
};

/** Columns that are not compared: the writing process, times, or random ids. */
const volatile: Readonly<Record<string, string>> = {
  // The late update and the number of concurrent updates depend on the network.
  batches: 'batch_offset,epoch,indexed_at',
  completion_ranges: 'recorded_at',
  contracts: 'redaction_id',
  coverage: 'recorded_at',
  exercises: 'redaction_id',
  filter_interfaces: 'updated_at',
  // The start of its range after a reset: see src/store/history/filter-parts.ts.
  filter_additions: 'from_offset,complete_from,updated_at',
  interface_views: 'redaction_id',
  quarantine: 'epoch,quarantined_at',
  projections: 'updated_at,listed_at',
  projection_changes: 'noted_at',
  instrument_labels: 'loaded_at',
  party_labels: 'loaded_at',
  reader_tokens: 'created_at',
  stream: 'epoch,writer,seeded_at,ledger_end,participant_pruned_offset',
  updates: 'batch_offset',
  verifications: 'started_at,seconds',
  webhook_dead_letters: 'failed_at',
  webhooks: 'hook_id,added_at,moved_at',
  jobs: 'requested_at,updated_at',
};

/**
 * Tables that are filled when packages are read, or by `filter accept` and `verify`. A reset or a run does not wait for
 * packages to be read.
 */
const tablesWithoutHistory = new Set([
  ...'packages omitted_fields typed_columns typed_views coverage retention_holds party_labels instrument_labels reader_tokens node_sessions'.split(
    ' ',
  ),
  ...'webhook_dead_letters webhook_secrets webhooks jobs verifications projections projection_changes user_projections'.split(
    ' ',
  ),
  ...projectionNames.map((name): string => projectedTable(name)).concat('history_changes'),
]);

type Rows = readonly string[];
type Tables = ReadonlyMap<string, Rows>;

/** Each shape fills all tables except the tables of the other shape. This stream never switched participants. */
const shapes = [
  ['LEDGER_EFFECTS', ['archives', 'participants']],
  ['ACS_DELTA', ['exercises', 'choices', 'participants', 'redacted_exercises']],
] as const;

describe.each(shapes)('reset --to with shape %s', (shape, empty) => {
  let world: HistoryWorld;
  let middle = 0;
  let tablesBefore: Tables;
  let tablesAfter: Tables;
  let shortTables: Tables;
  let brokenRuleIds: readonly string[];

  const env = (): Record<string, string> => ({
    LEDGER_SHAPE: shape,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    INDEXER_QUARANTINE: 'true',
    INDEXER_PROJECTIONS: 'off',
    // Small batches, so that a later update is already stored when a late update arrives.
    INDEXER_BATCH_UPDATES: '1',
    INDEXER_WRITE_CONCURRENCY: '1',
  });
  const index = (schema: string): Promise<void> => world.index(schema, env());

  async function tables(schema: string): Promise<Tables> {
    const ruleRows = await query(
      world.database.url,
      `select c.relname as name from pg_class c
        where c.relnamespace = '${schema}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        order by 1`,
    );
    const tablesByName = new Map<string, Rows>();
    for (const { name } of ruleRows) {
      const rows = await query(
        world.database.url,
        `select (to_jsonb(t) - '{${volatile[String(name)] ?? ''}}'::text[])::text as row
           from "${schema}"."${String(name)}" t order by 1`,
      );
      tablesByName.set(
        String(name),
        rows.map(({ row }) => String(row)),
      );
    }
    return tablesByName;
  }

  async function redact(schema: string, ...args: readonly string[]): Promise<void> {
    const argv = [...args, '--reason', 'asked for', '--yes', '--json'];
    const settings = { DATABASE_URL: world.database.url, POSTGRES_SCHEMA: schema };
    await runCommand(redactCommand, argv, settings);
  }

  /** Redacts contents of the first half, in both schemas. */
  async function redactSample(schema: string): Promise<void> {
    const queryOne = async (sql: string): Promise<string> => String((await world.row(sql))['id']);
    const contract = `select contract_id as id from ${schema}.interface_views v join ${schema}.lifetimes l using (node_id)
                       where v."offset" <= ${middle} and l.activated_offset = v."offset" order by 1 limit 1`;
    await redact(schema, 'contract', await queryOne(contract), '--include-active');
    if (shape === 'ACS_DELTA') return;
    const exercise = `select "offset" || ':' || node_id as id from ${schema}.exercises where "offset" <= ${middle} order by "offset", node_id limit 1`;
    await redact(schema, 'exercise', await queryOne(exercise));
  }

  beforeAll(async () => {
    world = await HistoryWorld.open(80);
    const { ledger } = world.sandbox;
    const historyScript = new HistoryScript(world);
    historyScript.beforeTheSeed();
    for (const schema of ['long', 'short']) await index(schema);
    historyScript.half('first');
    // Stops in the middle, because an indexer that is stopped at the end would never see the late update.
    historyScript.late();
    world.grow(60);
    for (const schema of ['long', 'short']) await index(schema);
    middle = ledger.ledgerEnd();
    await runVerify(['--tail', '10'], world.env('short', env()));
    await redactSample('short');
    await addWebhook('short', middle, 1, middle);
    shortTables = await tables('short');
    await runVerify(['--tail', '10'], world.env('long', env()));

    historyScript.half('second');
    world.grow(60);
    await index('long');
    await redactSample('long');
    await runVerify(['--invariants', '--acs'], world.env('long', env()));
    for (const topology of ['false', 'true'])
      await world.command('filter accept --yes', 'long', { ...env(), LEDGER_TOPOLOGY: topology });
    await packagesOf('long');
    historyScript.half('third');
    await index('long');
    await query(world.database.url, `insert into long.retention_holds values ('replica', 1)`);
    await query(
      world.database.url,
      `insert into long.jobs (name, state, request) values ('filter-extend', 'done', '{}')`,
    );
    await addWebhook('long', middle + 5, 1, middle, middle + 3);
    await query(
      world.database.url,
      `insert into long.projections (name, select_hash) values ('token_changes', '');
       insert into long.projection_changes (offsets) values ('(,)'); insert into long.history_changes values (1, '{[1,2)}');
       insert into long.user_projections (name, generation, select_text, select_hash, read_role, looks_up, sources, key_columns, index_columns)
         values ('volumes', 1, '', '', 'reader', true, '{}', '{}', '{}');
       ${projectionNames.map((name) => `insert into long.${projectedTable(name)} ("offset") values (1)`).join(';\n')}`,
    );
    tablesBefore = await tables('long');
    await world.command(`reset --to ${middle} --yes`, 'long', env());
    tablesAfter = await tables('long');
    brokenRuleIds = await brokenRules(world.database.url, 'long');
  }, 300_000);
  afterAll(async () => {
    await world.close();
  });

  /** Adds a webhook with this cursor, and with dead letters. */
  async function addWebhook(schema: string, cursor: number, ...nodeIds: readonly number[]): Promise<void> {
    const letters = nodeIds.map((offset) => `('reached', ${offset}, 0, '', 1, 'status 500')`).join(', ');
    await query(
      world.database.url,
      `insert into ${schema}.webhooks (name, role_name, cursor_offset) values ('reached', 'reader', ${cursor});
       insert into ${schema}.reader_tokens (id, hash, role_name, login_name) values ('1', '\\x01', 'reader', 'login');
       insert into ${schema}.party_labels (party, source, label) values ('alice::1220', 'file', 'Alice');
       insert into ${schema}.instrument_labels (admin, instrument_id, source, name) values ('alice::1220', 'X', 'file', 'Coin');
       insert into ${schema}.node_sessions (transaction_id, parties, reads_all) values ('1', '{}', false);
       insert into ${schema}.webhook_secrets values ('reached', 'https://hooks.example', 'whsec_');
       insert into ${schema}.webhook_dead_letters (name, "offset", node_id, contract_id, attempts, problem) values ${letters}`,
    );
  }

  /** Waits until packages are read, which happens in the background. */
  async function packagesOf(schema: string): Promise<void> {
    await using indexer = await world.run(schema, env());
    await indexer.reaches(1);
    await waitFor('packages are read', async () => {
      const { count } = await world.row(
        `select count(*) from ${schema}.omitted_fields where exists (select from ${schema}.typed_views)`,
      );
      return Number(count) > 0 ? true : undefined;
    });
  }

  it('has a rule and test rows for every table', () => {
    expect([...tablesBefore.keys()].sort(), 'add a rule to this file').toEqual(Object.keys(rules).sort());
    const unchangedTables = [...tablesBefore].filter(([, rows]) => rows.length === 0).map(([name]) => name);
    expect(unchangedTables.sort()).toEqual([...empty].sort());
    const cutRules = Object.keys(rules).filter(
      (name) => rules[name] === 'cut' && !(empty as readonly string[]).includes(name),
    );
    expect(cutRules.filter((name) => tablesBefore.get(name)?.join() === shortTables.get(name)?.join())).toEqual([]);
  });

  it.each(Object.entries(rules))('handles table %s by its rule: %s', (name, rule) => {
    if (rule === 'added') {
      expect(parseRows(tablesAfter.get(name))).toEqual(
        expect.arrayContaining(parseRows(tablesBefore.get(name)).slice()),
      );
      return;
    }
    const expected = rule === 'cut' ? shortTables : tablesBefore;
    expect(parseRows(tablesAfter.get(name))).toEqual(parseRows(expected.get(name)));
  });

  it('violates no invariants', () => {
    expect(brokenRuleIds).toEqual([]);
  });

  it('yields the original rows after the stream is read again', async () => {
    await index('long');
    const secondRun = await tables('long');
    for (const [name, rows] of tablesBefore) {
      if (!tablesWithoutHistory.has(name)) expect(parseRows(secondRun.get(name)), name).toEqual(parseRows(rows));
    }
  });
});

/** History in addition to the traffic of the demo. Each kind occurs before and after the offset. */
class HistoryScript {
  readonly #world: HistoryWorld;
  readonly #open = new Map<string, string>();
  #inFlight = '';

  constructor(world: HistoryWorld) {
    this.#world = world;
  }

  /** Contracts that are in flight at the seed, and parties without later events. */
  beforeTheSeed(): void {
    this.#account('seeded', 'leaves in the first half');
    this.#account('travels', 'stays');
    this.#inFlight = unassign(this.#ledger, this.#id('travels'));
  }

  half(name: 'first' | 'second' | 'third'): void {
    const ledger = this.#ledger;
    if (name === 'first') {
      for (const hint of ['stays', 'leaves in the second half']) authorize(ledger, party(hint), true);
      for (const entityText of ['ends in the second half', 'travels later', 'of the first half'])
        this.#account(entityText, 'stays');
      this.#account('is unhosted in the second half', 'leaves in the second half');
      authorize(ledger, party('leaves in the first half'), false);
      this.#account('ends unseen', 'leaves in the first half');
      assign(ledger, this.#inFlight);
      this.#inFlight = unassign(ledger, this.#id('travels later'));
    } else if (name === 'second') {
      this.#archive('ends in the second half', 'stays');
      assign(ledger, this.#inFlight);
      authorize(ledger, party('leaves in the second half'), false);
      authorize(ledger, party('leaves in the first half'), true);
      this.#archive('seeded', 'leaves in the first half');
      this.#account('of the second half', 'stays');
    }
    this.#refused(name);
    this.#commands(name);
    this.#account(`made in the ${name} part`, 'stays');
  }

  /** Makes the next two updates arrive in the wrong order. */
  late(): void {
    const atOffset = this.#ledger.ledgerEnd() + 1;
    this.#account('late', 'stays');
    this.#account('overtakes', 'stays');
    this.#world.sandbox.faults.swapUpdates = { atOffset, times: 2 };
  }

  /** Adds an update without a field that is needed for indexing. */
  #refused(name: string): void {
    const event = created({ contractId: null, acsDelta: false, createArgument: { half: name } });
    const [{ id: synchronizerId }] = this.#ledger.synchronizers;
    const updateFields = { synchronizerId, recordTime: this.#ledger.recordTime(synchronizerId, this.#ledger.clock()) };
    this.#ledger.appendRaw(transaction(this.#ledger.ledgerEnd() + 1, [{ CreatedEvent: event }], updateFields));
  }

  /** Submits a command twice, so that it is accepted and then rejected, with parties of its own. */
  #commands(name: string): void {
    const actAs = [party(`submits in the ${name} part`)];
    const argument = {
      bank: actAs[0] ?? '',
      owner: actAs[0] ?? '',
      number: `submitted in the ${name} part`,
      balance: '1.0',
      version: '1',
    };
    const submission = {
      commands: [{ kind: 'create', templateId: `#${accountTemplate}`, argument }],
      actAs,
      userId: 'app',
      commandId: name,
    } as const;
    this.#ledger.submit(submission);
    expect(() => this.#ledger.submit(submission)).toThrow();
  }

  get #ledger() {
    return this.#world.sandbox.ledger;
  }

  #account(number: string, hint: string): void {
    const argument = { bank: party(hint), owner: party(hint), number, balance: '1.0', version: '1' };
    this.#open.set(number, this.#ledger.create(`#${accountTemplate}`, argument, [party(hint)]).contractId);
  }

  #archive(number: string, hint: string): void {
    this.#ledger.exercise(this.#id(number), 'Archive', {}, [party(hint)]);
  }

  #id(number: string): string {
    return this.#open.get(number) ?? '';
  }
}

function parseRows(rows: Rows = []): readonly unknown[] {
  return rows.map((row) => JSON.parse(row) as unknown);
}

function party(hint: string): string {
  return `${hint.replaceAll(' ', '-')}::1220${'ab'.repeat(32)}`;
}
