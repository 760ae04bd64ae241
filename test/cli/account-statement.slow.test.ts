/** `account-statement` on a recording of a participant, and `verify --account-statement` on its output. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read/read-database.ts';
import * as tokens from '../read/tokens/token-frames.ts';
import { main, program, type ProcessResult } from './program.ts';

const { alice, bob } = frames;

interface PrintedStatement {
  readonly participant: string | null;
  readonly from: { readonly offset: number };
  readonly to: { readonly offset: number; readonly recordTime: string };
  readonly rows: readonly (readonly (string | null)[])[];
  readonly labels: Readonly<Record<string, string>>;
  readonly sha256: string;
}

let database: ReadDatabase;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statement-'));
  database = await createReadDatabase();
  const holding = (contractId: string, owner: string, amount: string, nodeId: number): frames.JsonRecord => ({
    CreatedEvent: frames.created({
      contractId,
      nodeId,
      signatories: [owner],
      interfaceViews: [
        {
          interfaceId: `${'cd'.repeat(32)}:Splice.Api.Token.HoldingV1:Holding`,
          viewStatus: { code: 0, message: '', details: [] },
          viewValue: {
            owner,
            amount,
            instrumentId: { admin: 'dso::1220', id: 'Amulet' },
            lock: null,
            meta: { values: {} },
          },
        },
      ],
    }),
  });
  const archivalOf = (contractId: string, nodeId: number): frames.JsonRecord => ({
    ExercisedEvent: frames.exercised({
      contractId,
      nodeId,
      choice: 'Archive',
      interfaceId: null,
      lastDescendantNodeId: nodeId,
    }),
  });
  await database.write(
    frames.transaction(1, [holding('00aa', alice, '10.5', 0)]),
    frames.transaction(2, [archivalOf('00aa', 0), holding('00ab', alice, '7.25', 1), holding('00bb', bob, '3.25', 2)]),
    frames.transaction(3, [holding('00ac', alice, '0.0000000001', 0)]),
  );
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const run = (...args: readonly string[]): Promise<ProcessResult> => program(args, { DATABASE_URL: database.url });

async function statement(...args: readonly string[]): Promise<PrintedStatement> {
  const { code, stdout, stderr } = await run('account-statement', '--party', alice, '--json', ...args);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as PrintedStatement;
}

describe('account-statement', () => {
  it('prints each change with the new balance, and the SHA-256 of all lines', async () => {
    const printedStatement = await statement();
    expect(printedStatement.rows.map((row) => [row[0], row[7], row[10], row[11]])).toEqual([
      ['1', 'received', '10.5', '10.5'],
      ['2', 'sent', '-3.25', '7.25'],
      ['3', 'received', '0.0000000001', '7.2500000001'],
      ['3', 'closing', '0', '7.2500000001'],
    ]);
    const head = ['account-statement', 2, printedStatement.participant, alice, null, null, 0, 3];
    const lines = [head, ...printedStatement.rows].map((line) => `${JSON.stringify(line)}\n`).join('');
    expect(printedStatement.sha256).toBe(createHash('sha256').update(lines).digest('hex'));
  });

  it('starts with the opening balance at --from and ends at --to (an offset or a time)', async () => {
    const laterStatement = await statement('--from', '1', '--to', '2', '--instrument', 'Amulet');
    expect(laterStatement.rows.map((row) => [row[0], row[7], row[11]])).toEqual([
      ['1', 'opening', '10.5'],
      ['2', 'sent', '7.25'],
      ['2', 'closing', '7.25'],
    ]);
    expect((await statement('--to', '2100-01-01T00:00:00Z')).to.offset).toBe(3);
    expect((await statement('--instrument', 'Nothing')).rows).toEqual([]);
  });

  it('prints CSV with the SHA-256 on stderr, or a table', async () => {
    const { stdout: csv, stderr } = await run('account-statement', '--party', alice, '--csv');
    expect(csv.split('\r\n')[1]).toMatch(
      /^1,2026-08-14T11:01:00\.100001Z,12200001,,"",dso::1220,Amulet,received,10\.5,0,10\.5,/,
    );
    expect(stderr).toContain((await statement()).sha256);
    const { stdout: table } = await run('account-statement', '--party', alice, '--table');
    expect(table).toMatch(/^party\s+Alice::1220aa\n/);
    expect(table).toMatch(/\n\s*3 .*0\.0000000001\s+7\.2500000001/);
    expect(table).toMatch(/\n\s*2 .* sent\s+Bob::1220bb\s+-3\.25\s+7\.25\s+0\s+7\.25\s+10\.5\n/);
    expect(table).toMatch(
      /\nAmulet\s+dso::1220\s+opening\s+0\n\s+received\s+2\s+10\.5000000001 .*\n\s+sent\s+1\s+-3\.25 .*\n\s+closing\s+7\.2500000001\n/,
    );
  });

  it('prints the label of a counterparty, without a change of the hash', async () => {
    const { sha256 } = await statement();
    await database.query(`insert into ledger.party_labels (party, label, source) values ($1, 'Bob & Co', 'test')`, [
      bob,
    ]);
    const labeled = await statement();
    expect([labeled.labels, labeled.sha256]).toEqual([{ [bob]: 'Bob & Co' }, sha256]);
    const { stdout: table } = await run('account-statement', '--party', alice, '--table');
    expect(table).toContain(' sent      Bob & Co (Bob::1220bb) ');
    await database.query('delete from ledger.party_labels');
  });

  it.each([
    [['--party', alice, '--from', 'yesterday'], /neither an offset nor a time with its zone/],
    [['--party', alice, '--to', '99'], /not known yet/],
    [[], /needs --party/],
    [['--party', alice, '--csv', '--json'], /one output format/],
  ])('rejects the arguments %j', async (args, pattern) => {
    const { code, stdout, stderr } = await run('account-statement', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(pattern);
  });
});

it('account-statement exits with 0 and prints no error when the reader closes its output pipe', async () => {
  const args = [main, 'account-statement', '--party', alice, '--json'];
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, errors]).toEqual([0, '']);
});

describe('account-statement --party', () => {
  const hostileText = '=HYPERLINK("http://evil")\n\u001b[2Jsecond line\u202e';
  const carol = 'Carol::1220cc';
  let otherDatabase: ReadDatabase;
  const runProgram = (...args: readonly string[]): Promise<ProcessResult> =>
    program(args, { DATABASE_URL: otherDatabase.url });
  beforeAll(async () => {
    otherDatabase = await createReadDatabase();
    const coin = (contractId: string, admin: string, id: string, nodeId: number): frames.JsonRecord =>
      tokens.held({ contractId, account: tokens.own(carol), instrument: { admin, id }, amount: '1.0' }, nodeId);
    await otherDatabase.write(
      frames.transaction(1, [coin('00c1', 'dso::1220', 'Amulet', 0), coin('00c2', 'Mallory::1220', 'Amulet', 1)]),
      frames.transaction(2, [coin('00c3', 'Mallory::1220', hostileText, 0)]),
      // A contract that is not a token holding.
      frames.transaction(3, [
        { CreatedEvent: frames.created({ offset: 3, observers: [frames.bob], interfaceViews: [] }) },
      ]),
    );
  });
  afterAll(() => otherDatabase[Symbol.asyncDispose]());

  it('escapes formulas in CSV and control characters in tables, but nothing in JSON', async () => {
    const csv = await runProgram('account-statement', '--party', carol, '--csv');
    expect(csv.stdout).toContain(`,"'=HYPERLINK(""http://evil"")\n`);
    const table = await runProgram('account-statement', '--party', carol, '--table');
    expect(table.stdout).not.toContain('\u001b');
    expect(table.stdout).not.toMatch(/^second/m);
    const { rows } = JSON.parse(
      (await runProgram('account-statement', '--party', carol, '--json')).stdout,
    ) as PrintedStatement;
    expect(rows.map((row) => row[6])).toContain(hostileText);
  });

  it('ignores an instrument with the same id from another admin if --admin is set', async () => {
    const args = ['--party', carol, '--instrument', 'Amulet', '--admin', 'dso::1220'];
    const { rows } = JSON.parse((await runProgram('account-statement', ...args, '--json')).stdout) as PrintedStatement;
    expect(rows.map((row) => [row[5], row[7], row[11]])).toEqual([
      ['dso::1220', 'received', '1'],
      ['dso::1220', 'closing', '1'],
    ]);
    expect((await runProgram('account-statement', '--party', carol, '--table')).stdout).toContain('Mallory::1220');
  });

  it.each([
    ['a party hint without a namespace', 'Carol'],
    ['a mistyped party id', 'Carl::1220cc'],
  ])('exits with 2 for %s and names the nearest party', async (_, party) => {
    const refusedRun = await runProgram('account-statement', '--party', party, '--json');
    expect([refusedRun.code, refusedRun.stdout]).toEqual([2, '']);
    expect(refusedRun.stderr).toMatch(
      /Unknown party: no event, topology change or command names Car.*Nearest parties: Carol::1220cc/s,
    );
  });

  it('prints "none" for a party without holdings, and rejects --to before --from', async () => {
    const emptyRun = await runProgram('account-statement', '--party', frames.bob, '--table');
    expect([emptyRun.code, emptyRun.stdout]).toEqual([0, expect.stringMatching(/\nnone\n/)]);
    const reversedRange = await runProgram('account-statement', '--party', carol, '--from', '2', '--to', '1');
    expect([reversedRange.code, reversedRange.stderr]).toEqual([2, expect.stringMatching(/ends before it begins/)]);
  });

  it('notes that the statement ends at the checkpoint if the time in --to is later', async () => {
    const processResult = await runProgram(
      'account-statement',
      '--party',
      carol,
      '--to',
      '2100-01-01T00:00:00Z',
      '--json',
    );
    expect(JSON.parse(processResult.stdout)).toMatchObject({
      notes: ['2100-01-01T00:00:00Z is later than all that is here: it ends at the checkpoint'],
    });
    const result = await runProgram('account-statement', '--party', carol, '--from', '2', '--to', '2', '--json');
    expect(JSON.parse(result.stdout)).toMatchObject({ notes: [], from: { offset: 2 }, to: { offset: 2 } });
  });
});

describe('verify --account-statement', () => {
  it('accepts a statement of version 1, except with other amounts', async () => {
    const { from, to, participant, rows } = await statement('--to', '3');
    const oldRows = rows
      .filter((row) => row[7] !== 'closing')
      .map((row) => row.slice(0, 17).map((value, index) => (index === 7 ? 'transfer' : index === 13 ? null : value)));
    const writeStatement = async (name: string, statementRows: typeof rows): Promise<string> => {
      const lines = [[participant, alice, null, null, from.offset, to.offset], ...statementRows];
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      const sha256 = createHash('sha256').update(text).digest('hex');
      const file = join(folder, name);
      const head = { participant, party: alice, instrument: null, admin: null, from, to, notes: [] };
      await writeFile(file, JSON.stringify({ ...head, rows: statementRows, sha256 }));
      return file;
    };
    expect(await run('verify', '--account-statement', await writeStatement('old.json', oldRows))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^equal: 3 rows.*of an earlier version/) as string,
    });
    const otherRows = oldRows.map((row) => row.map((value, index) => (index === 11 ? '9' : value)));
    expect(await run('verify', '--account-statement', await writeStatement('other.json', otherRows))).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/different from row 1/) as string,
    });
  });

  it('accepts an unchanged statement and reports an edited file or changed table rows', async () => {
    const file = join(folder, 'alice.json');
    const { stdout } = await run('account-statement', '--party', alice, '--to', '3', '--json');
    await writeFile(file, stdout);
    expect(await run('verify', '--account-statement', file)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^equal: 4 rows/) as string,
    });

    await writeFile(file, stdout.replace('"-3.25"', '"-0.25"'));
    const verifyResult = await run('verify', '--account-statement', file);
    expect([verifyResult.code, verifyResult.stdout]).toEqual([
      1,
      expect.stringMatching(/changed after it was created/),
    ]);

    await writeFile(file, stdout);
    await database.query(
      `update ledger.interface_views set view = jsonb_set(view, '{amount}', '"11.5"') where "offset" = 1`,
    );
    const otherVerify = await run('verify', '--account-statement', file);
    expect([otherVerify.code, otherVerify.stdout]).toEqual([1, expect.stringMatching(/different from row 1/)]);
    expect(await readFile(file, 'utf8')).toBe(stdout);

    await writeFile(file, '{}');
    expect((await run('verify', '--account-statement', file)).code).toBe(2);
  });
});
