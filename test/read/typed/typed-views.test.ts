/** Typed views through the whole program: DARs uploaded to a participant that is being indexed become columns. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { haveDars } from '../../daml/dars.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { alice, bob, created, exercised, transaction, type Json, type JsonRecord } from '../../support/frames.ts';
import { darsFolder } from '../../support/wire/recorded.ts';
import { waitFor } from '../../support/wait-for.ts';
import { recordDar, type FieldType } from './typed-dar.ts';

let sandbox: Sandbox;
let database: TestDatabase;
let indexer: IndexerRun;
let ledger: LedgerClient;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  database = await createTestDatabase();
  indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url });
  ledger = createLedgerClient({
    url: sandbox.url,
    tokenSource: createTokenSource({}),
    insecure: false,
    requestTimeoutMs: 10_000,
  });
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(database.url, sql);

/** Appends a transaction and waits until it is indexed. */
async function happens(...events: readonly JsonRecord[]): Promise<number> {
  const offset = sandbox.ledger.ledgerEnd() + 1;
  const at = { offset };
  const moved = events.map((event) => {
    const [kind = '', value] = Object.entries(event)[0] ?? [];
    return { [kind]: { ...(value as JsonRecord), ...at } };
  });
  sandbox.ledger.appendRaw(transaction(offset, moved));
  await indexer.reaches(offset);
  return offset;
}

let contracts = 0;
function contractOf(
  templateId: string,
  packageName: string,
  createArgument: Json,
  change: JsonRecord = {},
): JsonRecord {
  contracts += 1;
  const contractId = `00${contracts.toString(16).padStart(4, '0')}`;
  return {
    CreatedEvent: created({ contractId, templateId, packageName, createArgument, interfaceViews: [], ...change }),
  };
}

async function columnsOf(view: string): Promise<readonly string[]> {
  const found = await rows(
    `select attname || ' ' || format_type(atttypid, atttypmod) as shown from pg_attribute
      where attrelid = to_regclass('typed.${view}') and attnum > 0 order by attnum`,
  );
  return found.map(({ shown }) => shown as string);
}

async function appears(view: string, column?: string): Promise<void> {
  await waitFor(`typed.${view} ${column ?? ''}`, async () => {
    const found = await columnsOf(view);
    return found.some((shown) => column === undefined || shown.startsWith(`${column} `)) ? true : undefined;
  });
}

describe('an upgrade while ingestion runs', () => {
  const version = (number: string, fields: Record<string, FieldType>, profile: Record<string, FieldType>) =>
    recordDar({
      name: 'harbor',
      version: number,
      templates: ['Berth'],
      records: { Berth: { owner: 'text', profile: { optional: { record: 'Profile' } }, ...fields }, Profile: profile },
    });
  const one = version('1.0.0', {}, { level: 'int64' });
  const two = version('1.1.0', { note: { optional: 'text' } }, { level: 'int64', nick: { optional: 'text' } });

  it('shows the fields of the first version', async () => {
    await ledger.packages.uploadDar(one.dar);
    await happens(contractOf(`${one.packageId}:Main:Berth`, 'harbor', { owner: alice, profile: { level: '9' } }));
    await appears('harbor__berth');
    await rows('create view public.dependent as select owner, profile_level from typed.harbor__berth');
    expect((await columnsOf('harbor__berth')).slice(-3)).toEqual([
      'payload jsonb',
      'owner text',
      'profile_level bigint',
    ]);
    expect(await rows('select owner, profile_level, package_version from typed.harbor__berth')).toEqual([
      { owner: alice, profile_level: '9', package_version: '1.0.0' },
    ]);
  });

  it('appends the fields of the next, keeps views built on it, and old rows have null there', async () => {
    await ledger.packages.uploadDar(two.dar);
    const payload = { owner: bob, profile: { level: '10', nick: 'x' }, note: 'new' };
    await happens(contractOf(`${two.packageId}:Main:Berth`, 'harbor', payload));
    await happens(contractOf(`${two.packageId}:Main:Berth`, 'harbor', { owner: 'nobody', profile: null }));
    await appears('harbor__berth', 'note');
    expect((await columnsOf('harbor__berth')).slice(-4)).toEqual([
      'owner text',
      'profile_level bigint',
      'profile_nick text',
      'note text',
    ]);
    expect(
      await rows(
        `select owner, profile_level, profile_nick, note, package_version from typed.harbor__berth
          order by created_at_offset`,
      ),
    ).toEqual([
      { owner: alice, profile_level: '9', profile_nick: null, note: null, package_version: '1.0.0' },
      { owner: bob, profile_level: '10', profile_nick: 'x', note: 'new', package_version: '1.1.0' },
      { owner: 'nobody', profile_level: null, profile_nick: null, note: null, package_version: '1.1.0' },
    ]);
    expect(await rows('select count(*)::int as count from public.dependent')).toEqual([{ count: 3 }]);
    expect(indexer.logged('connected')).toBe(2);
    expect(indexer.logged('backing off')).toBe(0);
  });

  it('has one row in the history when the contract is archived', async () => {
    const templateId = `${one.packageId}:Main:Berth`;
    const contractId = '00aa01';
    await happens(contractOf(templateId, 'harbor', { owner: 'gone', profile: null }, { contractId }));
    const archive = { contractId, templateId, packageName: 'harbor', choice: 'Archive', interfaceId: null };
    const offset = await happens({ ExercisedEvent: exercised({ ...archive, implementedInterfaces: [] }) });
    await appears('harbor__berth__history', 'note');
    expect(await rows(`select from typed.harbor__berth where owner = 'gone'`)).toHaveLength(0);
    expect(
      await rows(
        `select archived_at_offset, archived_at::text, is_active from typed.harbor__berth__history where owner = 'gone'`,
      ),
    ).toEqual([
      { archived_at_offset: String(offset), archived_at: expect.stringMatching(/^2026-08-14/), is_active: false },
    ]);
  });
});

describe.skipIf(!haveDars('typed views of compiled packages'))('compiled packages', () => {
  const upload = (name: string): Promise<void> => ledger.packages.uploadDar(readFileSync(join(darsFolder, name)));
  const holding = '718a0f77e505a8de22f188bd4c87fe74101274e9d4cb1bfac7d09aec7158d35b';
  const rich = '9fbb9c81a2f951e871e72723d952fa879c49a90514647b9b496c52251b63cf8f';

  async function seenAsHolding(viewValue: Json): Promise<void> {
    const seen = {
      interfaceId: `${holding}:Splice.Api.Token.HoldingV1:Holding`,
      viewStatus: { code: 0, message: '', details: [] },
      viewValue,
      implementationPackageId: rich,
    };
    await happens(contractOf(`${rich}:RichTypes:Marker`, 'richtypes', { owner: alice }, { interfaceViews: [seen] }));
  }

  it('show every type of Daml as the type of Postgres', async () => {
    await upload('richtypes.dar');
    const payload = {
      owner: alice,
      count: '9223372036854775807',
      amount: '12.5000000000',
      label: 'a "label"',
      active: true,
      asOf: '2026-02-28',
      observedAt: '2026-02-28T10:00:00.000001Z',
      note: null,
      tags: ['x', 'y'],
      attributes: { k: 'v' },
      marker: '00ff',
      profile: { nickname: 'al', level: '3' },
      outcome: { tag: 'Accepted', value: { by: alice } },
      fee: '0.10',
    };
    await happens(contractOf(`${rich}:RichTypes:RichRecord`, 'richtypes', payload));
    await appears('richtypes__rich_record');
    const [row] = await rows('select * from typed.richtypes__rich_record');
    expect(row).toMatchObject({
      owner: alice,
      count: '9223372036854775807',
      amount: '12.5000000000',
      active: true,
      observed_at: new Date('2026-02-28T10:00:00.000Z'),
      note: null,
      tags: ['x', 'y'],
      profile_nickname: 'al',
      profile_level: '3',
      outcome_tag: 'Accepted',
      fee: '0.10',
      payload,
    });
  });

  it('show exercises with argument and result', async () => {
    const id = { templateId: `${rich}:RichTypes:RichRecord`, packageName: 'richtypes', interfaceId: null };
    const offset = await happens({
      ExercisedEvent: exercised({
        ...id,
        choice: 'Relabel',
        choiceArgument: { newLabel: 'b' },
        consuming: false,
        exerciseResult: '00ee',
        implementedInterfaces: [],
      }),
    });
    await appears('richtypes__rich_record__relabel');
    const [row] = await rows('select * from typed.richtypes__rich_record__relabel');
    expect(row).toMatchObject({
      exercised_at_offset: String(offset),
      acting_parties: [alice],
      consuming: false,
      argument: { newLabel: 'b' },
      result: '00ee',
      new_label: 'b',
      package_version: '0.0.1',
    });
  });

  it('show contracts through an interface', async () => {
    await upload('splice-api-token-holding-v1-1.0.0.dar');
    const view = {
      owner: alice,
      instrumentId: { admin: bob, id: 'coin' },
      amount: '5.0000000000',
      lock: { holders: [bob], expiresAt: null, expiresAfter: { microseconds: '90000000' }, context: 'why' },
      meta: { values: { a: 'b' } },
    };
    await seenAsHolding(view);
    await appears('token_holding_v1__holding');
    const [row] = await rows('select *, lock_expires_after::text as after from typed.token_holding_v1__holding');
    expect(row).toMatchObject({
      template: 'richtypes:RichTypes:Marker',
      owner: alice,
      instrument_id_admin: bob,
      instrument_id_id: 'coin',
      amount: '5.0000000000',
      lock_holders: [bob],
      lock_expires_at: null,
      after: '00:01:30',
      package_version: '1.0.0',
      view,
    });
  });

  it('show durations up to the longest', async () => {
    const durations = ['9223372036854775807', '-9223372036854775808', '1'];
    for (const microseconds of durations) {
      const lock = { holders: [], expiresAfter: { microseconds } };
      await seenAsHolding({ owner: 'long', lock });
    }
    expect(
      await rows(
        `select extract(epoch from lock_expires_after)::text as seconds
           from typed.token_holding_v1__holding where owner = 'long' order by created_at_offset`,
      ),
    ).toEqual([{ seconds: '9223372036854.775807' }, { seconds: '-9223372036854.775808' }, { seconds: '0.000001' }]);
  });

  it('show exercises of the choices of an interface, with the template', async () => {
    await upload('splice-api-token-transfer-instruction-v1-1.0.0.dar');
    const instruction = '55ba4deb0ad4662c4168b39859738a0e91388d252286480c7331b3f71a517281';
    const event = exercised({
      templateId: `${rich}:RichTypes:Marker`,
      packageName: 'richtypes',
      interfaceId: `${instruction}:Splice.Api.Token.TransferInstructionV1:TransferInstruction`,
      choice: 'TransferInstruction_Accept',
      choiceArgument: { extraArgs: { context: { values: {} }, meta: { values: { k: 'v' } } } },
      consuming: false,
    });
    await happens({ ExercisedEvent: event });
    const name = 'transfer_instruction_v1__transfer_instruction__accept';
    await appears(name);
    const [row] = await rows(`select * from typed.${name}`);
    expect(row).toMatchObject({
      template: 'richtypes:RichTypes:Marker',
      package_version: '1.0.0',
      consuming: false,
      argument: event['choiceArgument'],
      extra_args_meta_values: { k: 'v' },
    });
  });
});
