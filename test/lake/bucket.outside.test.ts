/** An export to a real S3 server writes the same files as an export to a folder, also after a kill at any operation. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAfter, stateOf } from '../../bench/lake/kill-export.ts';
import { exportAll } from '../../bench/lake/whole-export.ts';
import { openLake } from '../../packages/lake/src/storage/open-lake.ts';
import { exportCommand } from '../../src/cli/lake/export.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { BucketClient } from '../../packages/lake/src/storage/bucket-client.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { bucketSkipReason, startBucketServer, type BucketServer } from '../support/bucket-server.ts';
import { runCommand } from '../support/run-command.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { activeAt, exportTo, filesIn, lakeDir, manifestOf } from './lake-world.ts';
import { startHistory, create, filesWith, updates, write } from './small-history.ts';

const schemas = schemasOfFile();

describe('export --to s3://', needs(bucketSkipReason), () => {
  let server: BucketServer;
  let database: Database;
  beforeAll(async () => {
    server = await startBucketServer();
    database = await startHistory(schemas, 'ledger', updates());
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  async function run(command: typeof exportCommand, argv: readonly string[], overrides: object = {}): Promise<unknown> {
    const lines: string[] = [];
    const env = { ...server.env, DATABASE_URL: schemas.url, POSTGRES_SCHEMA: 'ledger', ...overrides };
    await runCommand(command, [...argv, '--json'], env, { print: (line) => lines.push(line) });
    return JSON.parse(lines.at(-1) ?? '{}');
  }
  const toBucket = (to: string, ...argv: readonly string[]): Promise<unknown> =>
    run(exportCommand, ['--to', to, ...argv]);

  it('writes the same files as to a folder, and rewrites files with redacted contents', async () => {
    const path = join(server.bucket('first'), 'some/lake');
    using dir = lakeDir();
    for (const untilOffset of ['4', '9']) {
      await toBucket('s3://first/some/lake', '--until', untilOffset);
      await exportTo(dir.path, schemas.url, 'ledger', '--until', untilOffset);
    }
    expect(manifestOf(path)).toEqual(manifestOf(dir.path));
    expect(filesIn(path)).toEqual(filesIn(dir.path));
    for (const name of filesIn(path).filter((fileName) => fileName.endsWith('.parquet')))
      expect(readFileSync(join(path, name)).equals(readFileSync(join(dir.path, name))), name).toBe(true);
    expect(await activeAt(path, 9)).toEqual(await activeAt(dir.path, 9));

    await write(database, 9, [create(10, '00c10')]);
    const subject = { kind: 'contract', contractId: '00c2' } as const;
    await redact(database, { subject, reason: 'r', active: false, exercises: true }, new AbortController().signal);
    const prune = (): Promise<unknown> => run(pruneCommand, ['--before', '9', '--exported', 's3://first/some/lake']);
    expect(await prune()).toMatchObject({ boundary: 0, exported: { offset: -1 } });
    await toBucket('s3://first/some/lake');
    expect(await filesWith(path, 'SECRET-00c2')).toEqual([]);
    expect(await prune()).toMatchObject({ boundary: 9, exported: { offset: 10 } });
    expect(await toBucket('s3://first/some/lake')).toMatchObject({ files: 0 });
    // Each commit of the log uses the next free version and does not overwrite an earlier commit.
    expect(filesIn(path).filter((name) => name.startsWith('updates/_delta_log/')).length).toBe(3);
  });

  it('uploads a large file as one object, and a log commit only if it does not exist', async () => {
    const path = server.bucket('large');
    const lake = await openLake('s3://large', server.env);
    const file = await lake.begin();
    const chunks = Array.from({ length: 5 }, (_, chunkNumber) =>
      createHash('shake256', { outputLength: 1_500_000 }).update(String(chunkNumber)).digest(),
    );
    for (const chunk of chunks) await file.write(chunk);
    const fileContents = Buffer.concat(chunks);
    expect(await file.finish('updates/from=0-to=1.parquet')).toEqual({
      bytes: fileContents.length,
      sha256: createHash('sha256').update(fileContents).digest('hex'),
    });
    expect(readFileSync(join(path, 'updates/from=0-to=1.parquet')).equals(fileContents)).toBe(true);
    expect(await lake.sizes('updates')).toEqual(new Map([['from=0-to=1.parquet', fileContents.length]]));
    const lakeFile = await lake.readPart('updates/from=0-to=1.parquet', 1_499_990, 1_500_010);
    expect(Buffer.from(lakeFile).equals(fileContents.subarray(1_499_990, 1_500_010))).toBe(true);

    const commit = 'updates/_delta_log/00000000000000000000.json';
    expect(await lake.writeIfAbsent(commit, 'one')).toBe(true);
    expect(await lake.writeIfAbsent(commit, 'two')).toBe(false);
    // Uploading the same bytes again succeeds. This happens after a lost response.
    expect(await lake.writeIfAbsent(commit, 'one')).toBe(true);
    expect(await lake.read(commit)).toBe('one');
  });

  it('fails while another export has the lock, and takes over the lock of an ended process', async () => {
    const path = server.bucket('locked');
    await toBucket('s3://locked');
    expect(filesIn(path)).not.toContain('.lock');
    const client = new BucketClient('locked', {
      endpoint: server.env['AWS_ENDPOINT_URL'] ?? '',
      region: server.env['AWS_REGION'] ?? '',
      accessKeyId: server.env['AWS_ACCESS_KEY_ID'] ?? '',
      secretAccessKey: server.env['AWS_SECRET_ACCESS_KEY'] ?? '',
      sessionToken: undefined,
    });
    const writeLockHolder = async (holder: object): Promise<void> => {
      const bytes = Buffer.from(JSON.stringify(holder));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await client.put('.lock', { bytes: bytes.byteLength, sha256, open: () => bytes });
    };
    await writeLockHolder({ host: 'elsewhere', pid: 1 });
    await expect(toBucket('s3://locked')).rejects.toMatchObject({ code: 'EXPORT_BUSY' });
    await writeLockHolder({ host: hostname(), pid: spawnSync(process.execPath, ['-e', '']).pid });
    await toBucket('s3://locked');
    expect(filesIn(path)).not.toContain('.lock');
  });

  it('reports a missing bucket, wrong credentials and malformed addresses', async () => {
    await expect(toBucket('s3://nowhere/lake')).rejects.toMatchObject({
      code: 'EXPORT_UNWRITABLE',
      message: expect.stringContaining('404 NoSuchBucket') as string,
    });
    server.bucket('closed');
    const deniedExport = run(exportCommand, ['--to', 's3://closed'], { AWS_SECRET_ACCESS_KEY: 'another' });
    await expect(deniedExport).rejects.toMatchObject({
      code: 'EXPORT_UNWRITABLE',
      message: expect.stringMatching(/^the bucket returned 403 SignatureDoesNotMatch for (?!.*another)/) as string,
    });
    for (const [to, env] of [
      ['s3://closed', { AWS_ACCESS_KEY_ID: '' }],
      ['s3://', {}],
      ['gs://closed', {}],
      ['s3://closed', { AWS_ENDPOINT_URL: 'nonsense' }],
    ] as const)
      await expect(run(exportCommand, ['--to', to], env), to).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('yields the same export after a kill between two object operations', async () => {
    assertBuilt();
    const completePath = server.bucket('whole');
    const operations = await exportAll('s3://whole', database, 4, { env: server.env });
    expect(operations).toBeGreaterThan(30);
    for (let operationIndex = 0; operationIndex < 6; operationIndex += 1) {
      const operation = 1 + Math.round((operationIndex * (operations - 1)) / 5);
      const path = server.bucket(`killed-${String(operation)}`);
      const to = `s3://killed-${String(operation)}`;
      const lake = { program: 'dist', to, url: schemas.url, schema: 'ledger', rowsPerRange: 4, env: server.env };
      expect(await killAfter(operation, lake)).toBe(true);
      await exportAll(to, database, 4, { env: server.env });
      expect(stateOf(path), `killed after operation ${String(operation)}`).toEqual(stateOf(completePath));
    }
  }, 120_000);

  it('removes redacted contents that exist only in the bucket', async () => {
    const path = join(server.bucket('pruned'), 'lake');
    await toBucket('s3://pruned/lake');
    await run(pruneCommand, ['--before', '9', '--exported', 's3://pruned/lake', '--yes']);
    const inBucket = [
      'contract',
      '00c7',
      '--exported',
      's3://pruned/lake',
      '--with-exercises',
      '--reason',
      'r',
      '--yes',
    ];
    expect(await run(redactCommand, inBucket)).toMatchObject({ onlyInLake: 1 });
    await toBucket('s3://pruned/lake');
    expect(await filesWith(path, 'SECRET-00c7')).toEqual([]);
    expect((await filesWith(path, 'SECRET-00c1')).length).toBeGreaterThan(2);
  });
});
