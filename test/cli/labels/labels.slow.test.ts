/**
 * `labels`: what a load changes, what `explain` prints, and that no log and no error contains a label. The indexer runs
 * with all log levels and serves the query page meanwhile.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../../history/history-run.ts';
import { fromGenesis } from '../../rebuild/world.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { runCommand } from '../../support/run-command.ts';
import { canaryWord } from '../../support/canary.ts';
import { query } from '../../support/database.ts';
import { programInProcess } from '../in-process.ts';

const word = canaryWord();
let world: HistoryWorld;
let indexer: IndexerRun;
let folder: string;
let party: string;
let offset: string;
/** Everything that commands have printed, except the output of `labels list` and `explain`. */
const printed: string[] = [];

beforeAll(async () => {
  world = await HistoryWorld.open(60);
  folder = mkdtempSync(join(tmpdir(), 'labels-'));
  const login = `labels_${canaryWord()}`;
  const password = join(folder, 'password');
  writeFileSync(password, login, { mode: 0o600 });
  await runCommand(grantReaderCommand, [login, '--password-file', password, '--shared-database'], world.env());
  const page = new URL(world.database.url);
  [page.username, page.password] = [login, login];
  indexer = await world.run('ledger', {
    ...fromGenesis,
    INDEXER_LOG_LEVEL: 'trace',
    INDEXER_QUERY_PAGE_DATABASE_URL: page.href,
  });
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  const [row] = await query(
    world.database.url,
    `select acting_parties[1] as party, "offset"::text from explore.exercises order by "offset" desc limit 1`,
  );
  [party, offset] = [String(row?.['party']), String(row?.['offset'])];
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await indexer[Symbol.asyncDispose]();
  await world.close();
});

async function labels(
  ...argv: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const result = await programInProcess(['labels', ...argv], world.env(), folder);
  if (argv[0] !== 'list') printed.push(result.stdout);
  printed.push(result.stderr);
  return result;
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const stored = async (): Promise<readonly unknown[]> =>
  (
    await query(
      world.database.url,
      'select party, source, label, loaded_at::text from ledger.party_labels order by 1, 2',
    )
  ).map(Object.values);

describe('labels load', () => {
  it('replaces the rows of its source only, and changes nothing at a second load', async () => {
    const customers = file(
      'customers.csv',
      `party,label\n${party},Alice ${word}\nb::12,Bob ${word}\nc::12,Cyd ${word}\n`,
    );
    expect((await labels('load', customers)).stdout).toBe(
      'source customers: 3 labels added, 0 changed, 0 unchanged, 0 removed\n',
    );
    file(
      'desk.json',
      JSON.stringify([
        { party: 'b::12', label: `Desk ${word}` },
        { admin: 'b::12', instrument_id: 'X', name: `Coin ${word}` },
      ]),
    );
    expect((await labels('load', 'desk.json', '--source', 'own')).stdout).toContain('source own: 2 labels added');
    const before = await stored();
    expect((await labels('load', customers)).stdout).toContain('0 labels added, 0 changed, 3 unchanged, 0 removed');
    expect(await stored()).toEqual(before);
    file('customers.csv', `party,label,note\n${party},Alice ${word},\nb::12,Bob ${word},new\nd::12,Dan ${word},\n`);
    expect((await labels('load', customers)).stdout).toContain('1 labels added, 1 changed, 1 unchanged, 1 removed');
    expect((await stored()).map((row) => (row as string[]).slice(0, 2).join(' '))).toEqual(
      [`${party} customers`, 'b::12 customers', 'b::12 own', 'd::12 customers'].sort(),
    );
  });

  it('changes nothing if one line has a problem', async () => {
    const before = await stored();
    file('bad.csv', `party,label\n${party},Other ${word}\nb,${word}\n`);
    const { code, stderr } = await labels('load', 'bad.csv', '--source', 'customers');
    expect([code, stderr]).toEqual([78, expect.stringContaining('LABELS_REFUSED')]);
    expect(stderr).toContain('line 3: expected party to be a complete party id');
    expect(await stored()).toEqual(before);
  });

  it('reports no label if the database refuses the rows', async () => {
    file('more.csv', `party,label\ne::12,Eve ${word}\n`);
    await query(
      world.database.url,
      'alter table ledger.party_labels add constraint short check (length(label) < 3) not valid',
    );
    const { code, stderr } = await labels('load', 'more.csv');
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringMatching(/STORE_/)]);
    expect(code).not.toBe(0);
    await query(world.database.url, 'alter table ledger.party_labels drop constraint short');
    expect((await labels('load', 'missing.csv')).stderr).toContain('ENOENT');
  });
});

describe('labels list', () => {
  it('prints CSV that can be loaded again, in which no text is a formula', async () => {
    file('sums.csv', `party,label,dso\ns::12,=1+${word},true\n`);
    await labels('load', 'sums.csv');
    const { stdout } = await labels('list', 'sums', '--csv');
    expect(stdout).toContain(`s::12,=1+${word},true`);
    expect((await labels('list', 'sums', '--csv', '--spreadsheet')).stdout).toContain(`s::12,'=1+${word},true`);
    file('sums.csv', stdout);
    expect((await labels('load', 'sums.csv')).stdout).toContain('0 labels added, 0 changed, 1 unchanged');
    const all = (await labels('list', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { source: string });
    expect(new Set(all.map(({ source }) => source))).toEqual(new Set(['customers', 'own', 'sums']));
    expect((await labels('list', 'own', '--table')).stdout).toMatch(/own +b::12 +X +Coin /);
  });

  it('is empty after labels remove, which refuses a source without labels', async () => {
    expect((await labels('remove', 'sums')).stdout).toBe('1 labels removed\n');
    expect((await labels('list', 'sums', '--table')).stdout).toBe('none\n');
    expect(await labels('remove', 'sums')).toMatchObject({ code: 78 });
  });
});

describe('explain', () => {
  it('prints the label after the shortened id, and in JSON in addition to the id', async () => {
    const text = await programInProcess(['explain', offset], world.env(), folder);
    const [hint = '', fingerprint = ''] = party.split('::');
    expect(text.stdout).toContain(`${hint}::${fingerprint.slice(0, 8)}… "Alice ${word}"`);
    const json = await programInProcess(['explain', offset, '--json'], world.env(), folder);
    const explained = JSON.parse(json.stdout) as {
      summary: { acting_parties: string[] };
      labels: Record<string, string>;
    };
    expect(explained.labels[party]).toBe(`Alice ${word}`);
    expect(explained.labels).not.toHaveProperty('b::12');
    expect(json.stdout.split(party).length).toBeGreaterThan(2);
  });

  it('cannot be deceived by a label that looks like another party', async () => {
    file('customers.csv', `party,label\n${party},"Alice"", other::1220abcd… ""Bob"\n`);
    await labels('load', 'customers.csv');
    const { stdout } = await programInProcess(['explain', offset], world.env(), folder);
    expect(stdout).toContain('… "Alice\\", other::1220abcd… \\"Bob"');
    file('customers.csv', `party,label\n${party},Alice ${word}\n`);
    await labels('load', 'customers.csv');
  });
});

it('no log line of the indexer, and nothing that labels load prints, contains a label', async () => {
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json', origin: indexer.httpUrl };
    const response = await fetch(`${indexer.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return await response.text();
  };
  expect(await post('/query/explain', { id: offset })).toContain(word);
  expect(await post('/query', { statement: 'select label from explore.party_labels' })).toContain(word);
  await post('/query', { statement: `select label::integer from explore.party_labels` });
  world.grow(5);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  expect(indexer.log.length).toBeGreaterThan(3);
  expect(indexer.log.join('')).not.toContain(word);
  expect(printed.length).toBeGreaterThan(10);
  expect(printed.join('')).not.toContain(word);
  const metrics = await (await fetch(`${indexer.httpUrl}/metrics`)).text();
  expect(metrics).not.toContain(word);
});
