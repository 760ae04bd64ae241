/** Commands report unknown names in their arguments, with the nearest known names. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReadDatabase, type ReadDatabase } from '../read/read-database.ts';
import * as tokens from '../read/tokens/token-frames.ts';
import * as frames from '../support/frames.ts';
import { query } from '../support/database.ts';
import { programInProcess } from '../cli/in-process.ts';
import type { ProcessResult } from '../cli/program.ts';

const role = `unseen_${randomBytes(4).toString('hex')}`;
const dso = 'dso::1220dd';
let database: ReadDatabase;
let template: string;
beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(
    frames.transaction(1, [
      tokens.held(
        {
          contractId: '00aa',
          account: tokens.own(frames.alice),
          instrument: { admin: dso, id: 'Amulet' },
          amount: '5',
        },
        0,
      ),
    ]),
  );
  template = String(
    (await database.query("select template_fqn from explore.templates where kind = 'template'"))[0]?.['template_fqn'],
  );
  await run('grant-reader', role);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

const run = (...args: readonly string[]): Promise<ProcessResult> =>
  programInProcess(args, { DATABASE_URL: database.url });
const add = (name: string, ...args: readonly string[]): Promise<ProcessResult> =>
  run('webhook', 'add', name, '--role', role, '--url', 'https://hooks.example.com/told', ...args);

it('webhook add refuses an unknown party and template with the nearest names', async () => {
  const flags = ['--party', 'alise::1220aa', '--template', `${template}t`];
  const { code, stderr } = await add('mistyped', ...flags);
  expect(code).toBe(2);
  const unknown = `no template ${template}t is known; did you mean ${template}?; no party alise::1220aa is known; did you mean ${frames.alice}`;
  expect(stderr).toContain(unknown);
  expect(stderr).toContain('--allow-unseen');
  const { code: allowedCode, stdout } = await add('mistyped', '--allow-unseen', ...flags);
  expect(allowedCode).toBe(0);
  expect(stdout).toContain(`no template ${template}t is known`);
});

it('webhook add prints no suggestion for known names', async () => {
  const { code, stdout } = await add('known', '--party', frames.alice, '--template', template);
  expect([code, stdout.split('\n').length]).toEqual([0, 3]);
});

it('grant-reader --dry-run reports an unknown party as a comment in the SQL', async () => {
  const { code, stdout } = await run('grant-reader', role, '--party', 'alise::1220aa', '--dry-run');
  expect(code).toBe(0);
  expect(stdout).toContain(
    `-- party alise::1220aa does not occur in the database: correct it, unless it will appear later. Nearest parties: ${frames.alice}`,
  );
});

it.each([
  [['--instrument', 'Amulte'], 'no holding of an instrument "Amulte"'],
  [['--instrument', 'amulet'], 'no holding of an instrument "amulet"'],
  [['--admin', 'DSO'], 'no holding of an instrument of DSO'],
])('account-statement %j notes the instruments that the party had instead', async (words, found) => {
  const { code, stdout } = await run('account-statement', '--party', frames.alice, '--json', ...words);
  expect(code).toBe(0);
  const { notes, rows } = JSON.parse(stdout) as { readonly notes: readonly string[]; readonly rows: unknown };
  expect([notes, rows]).toEqual([[`${frames.alice} has ${found} in its history here; it has "Amulet" of ${dso}`], []]);
});

it('account-statement prints no note if the party had the instrument at other offsets', async () => {
  const words = ['--instrument', 'Amulet', '--from', '0', '--to', '0'];
  const { stdout } = await run('account-statement', '--party', frames.alice, '--json', ...words);
  expect(JSON.parse(stdout)).toMatchObject({ notes: [], rows: [] });
});

it('redact party rejects an unknown party and names the nearest party', async () => {
  const { code, stderr } = await run('redact', 'party', 'alice', '--reason', 'left');
  expect(code).toBe(78);
  expect(stderr).toContain(`no contract of this party is stored here (nearest parties: ${frames.alice}`);
});

it.each([
  ['payload.ownr', /no stored contract has this field yet, so the index is empty\. Nearest fields: owner/],
  ['payload.owner', /^built: \S+ on [^\n]*\n$/],
])('index create %s reports whether stored contracts have the field', async (field, printed) => {
  const { code, stdout } = await run('index', 'create', field);
  expect(code).toBe(0);
  expect(stdout).toMatch(printed);
});
