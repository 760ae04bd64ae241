/** PostGraphile as docs/deploy/graphql configures it, as a separate process on Node 22. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';

const project = join(import.meta.dirname, '../../docs/deploy/graphql');
const installed = process.env['POSTGRAPHILE'] ?? '';

/** Path of this Node if it is new enough, otherwise of the Node that was installed for PostGraphile. */
function nodeOf(folder: string): string | undefined {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const installedNode = join(folder, `node/node_modules/node-${process.platform}-${process.arch}/bin/node`);
  return existsSync(installedNode) && spawnSync(installedNode, ['--version']).status === 0 ? installedNode : undefined;
}

const cli = join(installed, 'node_modules/postgraphile/dist/cli-run.js');
const node = installed !== '' && existsSync(cli) ? nodeOf(installed) : undefined;
export const postgraphileSkipReason =
  node === undefined
    ? 'needs PostGraphile (node scripts/get-postgraphile.mjs FOLDER; POSTGRAPHILE names the folder)'
    : undefined;

export interface Answer {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors: readonly { readonly message: string }[];
  /** The unchanged response body. */
  readonly text: string;
}

export interface Postgraphile extends AsyncDisposable {
  /** Output of the server so far, stdout and stderr. */
  readonly log: readonly string[];
  ask(query: string, variables?: Readonly<Record<string, unknown>>, headers?: Record<string, string>): Promise<Answer>;
}

/**
 * @param tags document of the command graphql @param env variables of the server, including DATABASE_URL; from this
 * process it only inherits PATH
 */
export async function startPostgraphile(tags: string, env: Readonly<Record<string, string>>): Promise<Postgraphile> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-graphql-'));
  for (const name of readdirSync(project).filter((name) => name.endsWith('.mjs'))) {
    cpSync(join(project, name), join(folder, name));
  }
  symlinkSync(join(installed, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'postgraphile.tags.json5'), tags);
  const log: string[] = [];
  const child = spawn(node ?? '', [cli], {
    cwd: folder,
    // The time limit is longer, because a machine that is busy with other tests responds late.
    env: {
      PATH: process.env['PATH'],
      GRAPHQL_PORT: '0',
      NODE_ENV: 'production',
      GRAPHQL_STATEMENT_TIMEOUT: '60s',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const whenEnded = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    const killTimer = setTimeout(() => reject(new Error(`PostGraphile does not start: ${log.join('\n')}`)), 120_000);
    const readLog = (chunk: Buffer): void => {
      log.push(chunk.toString());
      const [address] = /http:\/\/\S+\/graphql/.exec(log.join('')) ?? [];
      if (address === undefined) return;
      clearTimeout(killTimer);
      resolve(address);
    };
    child.stdout.on('data', readLog);
    child.stderr.on('data', readLog);
    void whenEnded.then(() => reject(new Error(`PostGraphile ended: ${log.join('\n')}`)));
  });
  return {
    log,
    ask: (query, variables = {}, headers = {}) => postQuery(url, query, variables, headers),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await whenEnded;
      clearTimeout(killTimer);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function postQuery(
  url: string,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  headers: Record<string, string>,
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  const { data, errors = [] } = JSON.parse(text) as Pick<Answer, 'data'> & { readonly errors?: Answer['errors'] };
  return { status: response.status, data, errors, text };
}

/** Request headers with a token for the subject. */
export async function bearer(
  secret: string,
  subject: string,
  { audience = 'graphql', expires = '5m' }: { audience?: string; expires?: string } = {},
): Promise<Record<string, string>> {
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(new TextEncoder().encode(secret));
  return { authorization: `Bearer ${token}` };
}
