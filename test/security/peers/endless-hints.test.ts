/** A server sends informational responses (1xx) and never a final response. The client stops with an error. */
import { request } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limitInformational } from '../../../src/http/informational.ts';
import { createOAuthTokenSource } from '../../../src/ledger/access/oauth.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { BucketClient } from '../../../packages/lake/src/storage/bucket-client.ts';
import { createTransport } from '../../../src/ledger/transport/transport.ts';
import { openRun } from '../../ledger/transport/stream-run.ts';

let server: Server;
let url: string;
/** Number of bytes that each connection accepted. */
const takenBytes: number[] = [];

beforeAll(async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'.repeat(100);
  server = createServer((socket) => {
    const connectionIndex = takenBytes.push(0) - 1;
    const writeMore = (): void => {
      takenBytes[connectionIndex] = socket.bytesWritten;
      if (!socket.destroyed) socket.write(hints, () => setImmediate(writeMore));
    };
    socket.on('error', () => undefined).once('data', writeMore);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
});

/** Timeout of the clients, which is never reached. */
const neverMs = 600_000;

it('a ledger request fails after more than 8 informational responses', async () => {
  const tokenSource = createTokenSource({});
  const transport = createTransport({ url, tokenSource, insecure: false, requestTimeoutMs: neverMs });
  await expect(transport.request('GET', '/v2/version')).rejects.toMatchObject({
    code: 'LEDGER_UNREACHABLE',
    message: expect.stringContaining('more than 8 informational responses') as string,
  });
});

it('a ledger stream fails after more than 8 informational responses', async () => {
  const error = await openRun(url, { handshakeTimeoutMs: neverMs }).ended;
  expect(error?.message).toContain('more than 8 informational responses');
});

it('a token request fails if the provider sends endless informational responses', async () => {
  const provider = { tokenUrl: `${url}/token`, clientId: 'id', clientSecret: 'secret', scope: 'ledger' };
  const source = createOAuthTokenSource({ ...provider, insecure: false, timeoutSeconds: neverMs / 1000 });
  await expect(source.read()).rejects.toHaveProperty('code', 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE');
});

it('a bucket request fails after more than 8 informational responses', async () => {
  const key = { region: 'us-east-1', accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: undefined };
  const bucket = new BucketClient('lake', { endpoint: url, ...key });
  await expect(bucket.get('manifest.json')).rejects.toMatchObject({
    code: 'EXPORT_UNWRITABLE',
    message: expect.stringContaining('more than 8 informational responses') as string,
  });
});

it('no client reads more than 16 MiB of informational responses', () => {
  // The bucket receives six requests.
  expect(takenBytes).toHaveLength(3 + 6);
  expect(Math.max(...takenBytes)).toBeLessThan(16 * 1024 * 1024);
});

it('limitInformational() stops after nine informational responses', async () => {
  let requestCount = 0;
  const clientRequest = request(url, { agent: false });
  limitInformational(clientRequest);
  clientRequest.on('information', () => (requestCount += 1)).end();
  await new Promise((resolve) => clientRequest.once('error', resolve).once('close', resolve));
  expect(requestCount).toBe(9);
});
