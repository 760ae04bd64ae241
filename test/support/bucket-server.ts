/** An S3 server that stores its objects in a folder, for tests. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from './wait-for.ts';

/** VERSITYGW is the path of the program if it is not on PATH. */
const program = process.env['VERSITYGW'] ?? 'versitygw';
export const bucketSkipReason =
  spawnSync(program, ['--version']).status === 0
    ? undefined
    : 'needs versitygw (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0; VERSITYGW names it)';

export interface BucketServer extends AsyncDisposable {
  /** Environment variables with the endpoint and the key of the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates a bucket. @returns the folder in which the server stores its objects as files */
  bucket(name: string): string;
}

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export async function startBucketServer(): Promise<BucketServer> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-buckets-'));
  const [objects, facts] = [join(folder, 'objects'), join(folder, 'facts')];
  for (const path of [objects, facts]) mkdirSync(path);
  const address = `127.0.0.1:${String(await freePort())}`;
  // The metadata of objects is also in a folder, because not every file system supports extended attributes.
  const child: ChildProcess = spawn(program, ['--quiet', '--port', address, 'posix', '--sidecar', facts, objects], {
    stdio: 'ignore',
    env: { ROOT_ACCESS_KEY_ID: 'tester', ROOT_SECRET_ACCESS_KEY: 'a-secret-of-tests', HOME: folder },
  });
  const endpoint = `http://${address}`;
  await waitFor('the S3 server answers', () =>
    fetch(endpoint).then(
      () => true,
      () => undefined,
    ),
  );
  return {
    env: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: 'tester',
      AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests',
      AWS_REGION: 'us-east-1',
    },
    bucket: (name) => {
      const path = join(objects, name);
      mkdirSync(path);
      return path;
    },
    [Symbol.asyncDispose]: async () => {
      const whenEnded = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await whenEnded;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
