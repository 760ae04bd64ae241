/** The Postgres of the measurement. Its data folder is kept between calls if the caller names one. */
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startChild } from '../child.ts';
import { onExit, type CleanupStep } from '../cleanup.ts';
import { schema } from '../postgres.ts';

/** Output of `tsc -p tsconfig.bench.json`. */
const outputs = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const reader = 'answers_reader';

export interface AnswersServer {
  /** URL of the owner of the database. */
  readonly url: string;
  readonly version: string;
  /** The process whose children are the sessions. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the server, with the settings of a demo. */
export async function startServer(folder: string): Promise<AnswersServer> {
  const server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  const stop: CleanupStep = onExit(() => server.stop());
  return { url: server.url, version: server.version, pid: server.pid, stop };
}

/** Migrates the database to this version, which also re-creates views and functions that differ. */
export async function migrateDatabase(databaseUrl: string): Promise<void> {
  await runProgram(['migrate'], databaseUrl);
}

/** Creates the role that reads everything, as operators do. Returns its password. */
export async function createReader(databaseUrl: string, folder: string): Promise<string> {
  const password = randomBytes(12).toString('hex');
  const file = join(folder, 'reader-password');
  writeFileSync(file, password, { mode: 0o600 });
  try {
    await runProgram(['grant-reader', reader, '--password-file', file], databaseUrl);
  } finally {
    rmSync(file);
  }
  return password;
}

/** URL of the sessions of the reader. The port of the server differs after a restart. */
export function readerUrl(ownerUrl: string, password: string): string {
  const url = new URL(ownerUrl);
  url.username = reader;
  url.password = password;
  return url.href;
}

/** Runs a command of the indexer. @throws Error with the last lines of the program if it fails */
export async function runProgram(args: readonly string[], databaseUrl: string): Promise<void> {
  const file = join(outputs, 'src', 'main.js');
  const child = startChild({ file, args, env: { DATABASE_URL: databaseUrl, POSTGRES_SCHEMA: schema } });
  const reason: unknown = await child.died.catch((thrown: unknown) => thrown);
  if (child.process.exitCode !== 0) throw reason;
}
