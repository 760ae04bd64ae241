/**
 * The recorded database of a release and the updates of its ledger, see record/main.ts. The database is restored from a
 * plain SQL dump, so that the test does not depend on what later versions would store. The ledger sends the recorded
 * frames, byte for byte, so that changes of the sandbox do not change the history.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { Client } from 'pg';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { upgradeLicensing } from '../../packages/ledger-sandbox/src/demo/templates/licensing-templates.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { createTestDatabase, query } from '../support/database.ts';

/** The release whose database is recorded. */
export const recordedVersion = '1.0.0';
/** Folder of the recordings. npm and Vitest run in the folder of the project. */
export const recordedFolder = join(process.cwd(), 'test/upgrade/recorded');
/** Roles in the dump. Roles belong to the server, so each restored database gets roles of its own. */
export const recordedRoles = {
  /** Reader that is limited to one party. */
  limited: 'recorded_reader',
  /** Reader of everything. */
  reports: 'recorded_reports',
} as const;

export interface Recording {
  readonly version: string;
  /** Git commit of the build that stored the rows. */
  readonly commit: string;
  readonly participantId: string;
  /** Names of the interfaces in the filter of the stream. */
  readonly interfaces: readonly string[];
  /** The party to which the reader is limited. */
  readonly party: string;
  readonly prunedToOffset: number;
  /** Offset of the last stored update. The frames after it are for the newer version. */
  readonly checkpoint: number;
  readonly ledgerEnd: number;
  readonly migrations: readonly string[];
  /** Comment of schema `explore`, which contains the hash of the read side. */
  readonly readSide: string;
}

export function readRecording(): Recording {
  return JSON.parse(readFileSync(join(recordedFolder, `${recordedVersion}.json`), 'utf8')) as Recording;
}

/** The recorded frames of `/v2/updates`, in order. */
export function recordedFrames(): readonly string[] {
  return unpacked('updates.jsonl').trimEnd().split('\n');
}

function unpacked(ending: string): string {
  return brotliDecompressSync(readFileSync(join(recordedFolder, `${recordedVersion}.${ending}.br`))).toString();
}

export interface RestoredDatabase extends AsyncDisposable {
  readonly url: string;
  /** URL of the reader that is limited to one party. Postgres 14 cannot limit it. */
  readonly readerUrl: string;
}

/** Restores the recorded database on the server of the test run. */
export async function restoreRecording(): Promise<RestoredDatabase> {
  const database = await createTestDatabase();
  const suffix = randomBytes(6).toString('hex');
  const roles = Object.values(recordedRoles).map((role) => ({ role, restored: `${role}_${suffix}` }));
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    let dump = unpacked('sql');
    for (const { role, restored } of roles) {
      await client.query(`create role ${restored}`);
      dump = dump.replaceAll(role, restored);
    }
    await client.query((await serverVersion(client)) >= 150_000 ? dump : withoutLimits(dump));
    // A dump contains no statistics, and autovacuum would collect them within a minute.
    await client.query('analyze');
  } finally {
    await client.end();
  }
  const reader = new URL(database.url);
  reader.searchParams.set('options', `-c role=${recordedRoles.limited}_${suffix}`);
  return {
    url: database.url,
    readerUrl: reader.href,
    [Symbol.asyncDispose]: async () => {
      await database.drop();
      for (const { restored } of roles) await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role ${restored}`);
    },
  };
}

async function serverVersion(client: Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  return rows[0]?.version ?? 0;
}

/** The dump without what Postgres 14 cannot do: views with the rights of their reader, and so limited readers. */
function withoutLimits(dump: string): string {
  return dump
    .replaceAll(/ WITH \(security_invoker='true'\)/g, '')
    .replaceAll(/^CREATE POLICY [^;]*;$/gm, '')
    .replaceAll(/^ALTER TABLE \S+ ENABLE ROW LEVEL SECURITY;$/gm, '');
}

export interface ReplayedLedger extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Appends the next recorded updates: all that are left, or this number. */
  grow(updates?: number): void;
}

/** A participant with the recorded updates up to the recorded checkpoint. */
export async function replayLedger(recording: Recording): Promise<ReplayedLedger> {
  const sandbox = await startSandbox({ participantId: recording.participantId, limits: { checkpointIntervalMs: 50 } });
  upgradeLicensing(sandbox.ledger.model);
  const frames = recordedFrames();
  let next = 0;
  const grow = (updates = Number.POSITIVE_INFINITY): void => {
    for (const end = Math.min(frames.length, next + updates); next < end; next += 1)
      sandbox.ledger.appendRaw(frames[next] ?? '');
  };
  while (sandbox.ledger.ledgerEnd() < recording.checkpoint) grow(1);
  return { sandbox, url: sandbox.url, grow, [Symbol.asyncDispose]: () => sandbox.close() };
}

/** Environment of an indexer that continues the recorded stream. */
export function recordedEnv(recording: Recording): Readonly<Record<string, string>> {
  return { INDEXER_START: 'genesis', LEDGER_INTERFACES: recording.interfaces.join(',') };
}
