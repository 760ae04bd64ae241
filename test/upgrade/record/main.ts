/**
 * `npm run upgrade:record`: records the database of a release for the upgrade tests, with the current build. The last
 * run for a release is on the day of the release:
 *
 *   npm run upgrade:record
 *
 * It needs `pg_dump` of Debian's package, and runs the real program on a sandbox ledger. The database has rows of every
 * kind that the program stores. It is dumped as SQL that Postgres 14 to 18 accept.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { Client } from 'pg';
import { waitFor } from '../../support/wait-for.ts';
import { recordedFolder, recordedRoles, recordedVersion, type Recording } from '../recording.ts';
import { framesOf } from './frames.ts';
import { startHistory, type RecordedHistory } from './history.ts';

const program = join(process.cwd(), 'dist/main.js');
const server = process.env['TEST_DATABASE_URL'];
/** Offset before which the history is pruned. */
const pruneShare = 0.2;

async function main(): Promise<void> {
  if (server === undefined) throw new Error('TEST_DATABASE_URL is not set: run `npm run upgrade:record`');
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-record-'));
  const url = new URL(server);
  const name = 'upgrade_record';
  const admin = new Client({ connectionString: server });
  await admin.connect();
  try {
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
    url.pathname = `/${name}`;
    await using history = await startHistory();
    const recording = await record(url.href, history, folder);
    const frames = await framesOf(history.url, recording);
    write(recording, dumpOf(url.href), frames);
  } finally {
    await admin.end();
    rmSync(folder, { recursive: true });
  }
}

/** Indexes the first part of the history, and does what an operator does. The second part is only on the ledger. */
async function record(url: string, history: RecordedHistory, folder: string): Promise<Recording> {
  const env = { DATABASE_URL: url, ...history.env };
  const client = new Client({ connectionString: url });
  await client.connect();
  const run = (...argv: readonly string[]): string =>
    execFileSync(process.execPath, [program, ...argv], {
      env: { PATH: process.env['PATH'], ...env },
      encoding: 'utf8',
    });
  const count = async (sql: string): Promise<number> => Number((await client.query<{ n: string }>(sql)).rows[0]?.n);
  try {
    await index(client, env, history.end());
    const { rows } = await client.query<{ party: string }>(
      `select owner as party from explore.token_balances group by 1 order by count(*) desc, 1 limit 1`,
    );
    const party = rows[0]?.party ?? '';
    operate(run, folder, party, history.end());
    await client.query(`update ledger.webhooks set state = 'disabled'`);
    await index(
      client,
      env,
      history.end(),
      async () => (await count(`select count(*) as n from ledger.projections where not is_filled`)) === 0,
    );
    const checkpoint = history.end();
    history.continue();
    const { rows: facts } = await client.query<{ migrations: string[]; read: string }>(
      `select array(select id from ledger.schema_migrations order by id) as migrations,
              obj_description('explore'::regnamespace) as read`,
    );
    return {
      version: recordedVersion,
      commit: commitOf(),
      participantId: history.participantId,
      interfaces: history.interfaces,
      party,
      prunedToOffset: await count('select pruned_to_offset as n from ledger.stream'),
      checkpoint,
      ledgerEnd: history.end(),
      migrations: facts[0]?.migrations ?? [],
      readSide: facts[0]?.read ?? '',
    };
  } finally {
    await client.end();
  }
}

/** Runs the indexer until everything is stored and its background work is done. */
async function index(
  client: Client,
  env: NodeJS.ProcessEnv,
  end: number,
  isDone = () => Promise.resolve(true),
): Promise<void> {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'], INDEXER_HTTP_PORT: '0', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const state = async (): Promise<string> => {
    const { rows } = await client.query<{ state: string }>(
      `select concat((select checkpoint from ledger.stream), ' ', (select count(*) from ledger.packages), ' ',
                     (select count(*) from ledger.typed_columns)) as state`,
    );
    return rows[0]?.state ?? '';
  };
  let lastState = '';
  let unchangedSince = 0;
  await waitFor(
    'everything is stored',
    async () => {
      const current = await state().catch(() => '');
      if (current !== lastState) [lastState, unchangedSince] = [current, performance.now()];
      const isStable = current.startsWith(`${end} `) && performance.now() - unchangedSince > 3_000;
      return isStable && (await isDone()) ? true : undefined;
    },
    120_000,
  );
  child.kill('SIGTERM');
  await exited;
}

/** Adds what operators add: a limited reader, a token, a webhook, labels, a projection, a hold; and prunes. */
function operate(run: (...argv: readonly string[]) => string, folder: string, party: string, end: number): void {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const { limited, reports } = recordedRoles;
  run('grant-reader', limited, '--party', party);
  run('grant-reader', reports);
  run('reader-token', 'create', '--role', limited, '--name', 'dashboard');
  run('webhook', 'add', 'billing', '--url', 'https://billing.example.com/hooks', '--role', limited);
  run('labels', 'load', file('customers.csv', `party,label\n${party},Customer 17\n`));
  const select = `select c.created_at_offset as "offset", c.node_id, c.contract_id, c.template_fqn, c.signatories
     from explore.contracts c where c.created_at_offset > :from and c.created_at_offset <= :to`;
  run(
    'projection',
    'add',
    'created_contracts',
    '--sql',
    file('created.sql', select),
    '--key',
    'node_id',
    '--role',
    reports,
  );
  run('hold', 'place', 'audit', '--after', String(Math.floor(end / 2)));
  run('prune', '--before', String(Math.floor(end * pruneShare)), '--yes');
}

/** A plain dump without settings of later releases, and without statements of psql. */
function dumpOf(url: string): string {
  const dump = execFileSync('pg_dump', ['--no-owner', '--inserts', '--rows-per-insert=200', url], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  const owner = decodeURIComponent(new URL(url).username);
  return (
    dump
      .replaceAll(/^\\(?:un)?restrict .*\n/gm, '')
      .replaceAll(/^--.*\n/gm, '')
      // Rights on functions of the server, whose arguments differ between releases of Postgres.
      .replaceAll(/^(?:GRANT|REVOKE) .* ON FUNCTION pg_catalog\..*\n/gm, '')
      .replaceAll(/\n{2,}/g, '\n')
      .replaceAll(new RegExp(` TO ${owner};`, 'g'), ' TO CURRENT_USER;')
      .replaceAll(new RegExp(` FROM ${owner};`, 'g'), ' FROM CURRENT_USER;')
      .replaceAll(new RegExp(` FOR ROLE ${owner} `, 'g'), ' ')
  );
}

function commitOf(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
}

function write(recording: Recording, dump: string, frames: readonly string[]): void {
  mkdirSync(recordedFolder, { recursive: true });
  const files: readonly (readonly [string, string])[] = [
    ['sql', dump],
    ['updates.jsonl', `${frames.join('\n')}\n`],
  ];
  for (const [ending, text] of files) {
    // The same ids occur far apart, which only a large window finds: half the size of gzip.
    const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
    const packed = brotliCompressSync(text, { params });
    writeFileSync(join(recordedFolder, `${recordedVersion}.${ending}.br`), packed);
    process.stdout.write(`${recordedVersion}.${ending}.br: ${String(packed.length)} bytes\n`);
  }
  writeFileSync(join(recordedFolder, `${recordedVersion}.json`), `${JSON.stringify(recording, null, 2)}\n`);
}

await main();
