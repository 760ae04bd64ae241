/** Checks at the end of a piece: everything that the ledger made is stored, sent and delivered, each once. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { explore, schema, withClient } from '../postgres.ts';
import type { ClientsReport } from './clients.ts';
import { emptyDigest, isSameSequence } from './groups.ts';
import type { Processes } from './processes.ts';
import type { SavedReference } from './reference.ts';
import type { WebhookReceiver } from './webhook.ts';

const limitMs = 180_000;
const verifyLimitMs = 900_000;
/** Updates that `verify` compares with the ledger, fewer than it keeps. */
const tail = 10_000;

export interface CheckResult {
  readonly name: string;
  readonly isPassed: boolean;
  readonly text: string;
}

type VerifiedProcesses = Pick<Processes, 'databaseUrl' | 'indexerEnv' | 'ledgerUrl'>;

/**
 * All comparisons of `verify`, with the configuration of the indexer.
 * @param file to which `verify` writes its report
 */
export async function checkVerify(
  file: string,
  { databaseUrl, indexerEnv, ledgerUrl }: VerifiedProcesses,
): Promise<CheckResult> {
  const env = { ...indexerEnv, LEDGER_URL: ledgerUrl, DATABASE_URL: databaseUrl, POSTGRES_SCHEMA: schema };
  const program = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'main.js');
  const flags = ['--invariants', '--tokens', '--projections', '--acs', '--tail', String(tail)];
  const { code, stdout, stderr } = await runProgram([program, 'verify', ...flags, '--json', file], env);
  const isEqual = code === 0;
  return {
    name: 'verify',
    isPassed: isEqual,
    text: isEqual ? summaryOf(file) : `${stdout}${stderr}`.slice(0, 2_000),
  };
}

interface ProgramResult {
  /** -1 if the program was ended by a signal or the time limit. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function runProgram(args: readonly string[], env: Readonly<Record<string, string>>): Promise<ProgramResult> {
  const options = {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    timeout: verifyLimitMs,
    maxBuffer: 100_000_000,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Comparisons and the number of compared rows. */
function summaryOf(file: string): string {
  const { results } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly results: readonly { readonly kind: string; readonly compared: number }[];
  };
  return `equal: ${results.map(({ kind, compared }) => `${kind} ${String(compared)}`).join(', ')}`;
}

/** Hourly sums include pruned rows, so they must be those of the complete history of the ledger. */
export async function checkCounts(databaseUrl: string, { types }: SavedReference): Promise<CheckResult> {
  const stored = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<Record<string, string>>(
      `select sum(creates) as created, sum(archives) as archived, sum(exercises) as exercised from ${explore}.activity`,
    );
    return rows[0] ?? {};
  });
  // A consuming exercise is an archived event for readers, and counts as both.
  const expected: Readonly<Record<string, number>> = {
    ...types,
    exercised: (types['exercised'] ?? 0) + (types['archived'] ?? 0),
  };
  const names = ['created', 'archived', 'exercised'] as const;
  const texts = names.map((name) => `${name} ${stored[name] ?? '?'} of ${String(expected[name] ?? 0)}`);
  return {
    name: 'counts',
    isPassed: names.every((name) => Number(stored[name]) === (expected[name] ?? 0)),
    text: texts.join(', '),
  };
}

/** Waits until every client has the events of its group, and compares them. */
export async function checkClients(
  readReport: () => Promise<ClientsReport>,
  { digests }: SavedReference,
): Promise<CheckResult> {
  const end = performance.now() + limitMs;
  for (;;) {
    const report = await readReport();
    const different = report.clients.filter(
      ({ group, digest }) => !isSameSequence(digest, digests[group] ?? emptyDigest()),
    );
    const repeated = report.clients.reduce((sum, client) => sum + client.repeated, 0);
    const refusals = Object.entries(report.refusals).filter(([reason]) => !/^status \d+$/.test(reason));
    if (different.length === 0 || performance.now() > end) {
      const [first] = different;
      return {
        name: 'clients',
        isPassed: different.length === 0 && repeated === 0 && refusals.length === 0,
        text: [
          `${String(report.clients.length)} clients, ${String(report.events)} events in this piece, ${String(report.reconnects)} reconnects`,
          `${String(different.length)} with other events than the ledger, ${String(repeated)} repeated events`,
          ...(first === undefined
            ? []
            : [
                `first: ${first.group} has ${String(first.digest.count)} of ${String(digests[first.group]?.count ?? 0)}`,
              ]),
          ...refusals.map(([reason, count]) => `${reason}: ${String(count)}`),
        ].join('; '),
      };
    }
    await sleep(1_000);
  }
}

/** Waits until everything is delivered. */
export async function checkWebhook(receiver: WebhookReceiver): Promise<CheckResult> {
  const end = performance.now() + limitMs;
  while ((receiver.missing > 0 || receiver.unexpected > 0) && performance.now() < end) await sleep(500);
  const { delivered, repeated, rejected, missing, unexpected } = receiver;
  return {
    name: 'webhook',
    isPassed: missing === 0 && unexpected === 0 && delivered > 0,
    text: `${String(delivered)} delivered, ${String(missing)} missing, ${String(unexpected)} unexpected, ${String(repeated)} repeated, ${String(rejected)} rejected on purpose`,
  };
}
