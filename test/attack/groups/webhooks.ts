/** Attacks by malicious webhook receivers, and with addresses to which nothing may ever be delivered. */
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { pause, waitFor } from '../../support/wait-for.ts';
import { verdict, type Attempt, type Group } from '../attempt.ts';
import { connected } from '../world/server.ts';
import { Victim } from '../world/victim.ts';
import type { World } from '../world/world.ts';

/** A webhook receiver: its first response, and its behavior after that. */
interface Receiver {
  readonly id: string;
  readonly what: string;
  readonly first: string;
  /** Text that the receiver sends repeatedly after the first response. */
  readonly part?: string;
  /** Time between two parts. */
  readonly everyMs?: number;
}

const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'.repeat(100);

const receivers: readonly Receiver[] = [
  { id: 'endless-103', what: 'informational responses without end', first: '', part: hints },
  {
    id: 'slow-103',
    what: 'an informational response every 100 ms',
    first: '',
    part: 'HTTP/1.1 103 Early Hints\r\n\r\n',
    everyMs: 100,
  },
  { id: 'endless-body', what: 'a body without end', first: 'HTTP/1.1 200 OK\r\n\r\n', part: 'x'.repeat(65_536) },
  { id: 'endless-header', what: 'a header without end', first: 'HTTP/1.1 200 OK\r\nx: ', part: 'y'.repeat(65_536) },
  { id: 'endless-headers', what: 'headers without end', first: 'HTTP/1.1 200 OK\r\n', part: 'x: y\r\n'.repeat(1_000) },
  {
    id: 'endless-chunks',
    what: 'chunks of one byte without end',
    first: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
    part: '1\r\nx\r\n'.repeat(1_000),
  },
  {
    id: 'endless-error-body',
    what: 'an error whose body does not end',
    first: 'HTTP/1.1 500 No\r\n\r\n',
    part: 'x'.repeat(65_536),
  },
  { id: 'byte-by-byte', what: 'a response byte by byte', first: 'HTTP/1.1 2', part: '0', everyMs: 200 },
  { id: 'garbage', what: 'bytes that are not HTTP', first: '\u0000\u0001'.repeat(10_000) },
  {
    id: 'redirect-to-metadata',
    what: 'a redirect to an address of a cloud',
    first: 'HTTP/1.1 307 Moved\r\nlocation: http://169.254.169.254/latest/\r\ncontent-length: 0\r\n\r\n',
  },
  { id: 'silence', what: 'nothing', first: '' },
];

/** Reading more bytes than this of one receiver is a finding. It is more than a socket buffers. */
const maxBytes = 16 * 1024 * 1024;
const watchedMs = 10_000;

interface WebhookListener {
  readonly url: string;
  readonly server: Server;
  /** The largest number of bytes that one connection received. */
  readonly taken: () => number;
  readonly connections: () => number;
}

async function listen({ first, part: repeatedPart, everyMs }: Receiver): Promise<WebhookListener> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const writeMore = (): void => {
      if (repeatedPart === undefined || socket.destroyed) return;
      socket.write(repeatedPart, () =>
        everyMs === undefined ? setImmediate(writeMore) : setTimeout(writeMore, everyMs).unref(),
      );
    };
    socket.on('error', () => undefined).once('data', () => socket.write(first, writeMore));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`,
    server,
    taken: () => Math.max(0, ...sockets.map((socket) => socket.bytesWritten)),
    connections: () => sockets.length,
  };
}

/** CPU time of the process so far, in seconds; 0 if the system does not provide it. */
function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/**
 * CPU limit, as a share of one processor. A run that exceeds it is a finding, unless it made so many deliveries that
 * each of them was cheap.
 */
const maxCpu = 0.5;
const maxMsPerDelivery = 10;

const receiver = (spec: Receiver): Attempt => ({
  id: `receiver-${spec.id}`,
  what: `a receiver responds with ${spec.what}`,
  expected: 'few bytes are read, little CPU is used, and the ledger is followed',
  run: async (world) => {
    const webhookListener = await listen(spec);
    await using victim = await Victim.open(world, world.ledgerUrl, { INDEXER_WEBHOOK_NETWORKS: 'loopback' });
    await waitFor('the indexer follows', async () => ((await victim.checkpoint()) >= 0 ? true : undefined), 60_000);
    const role = `${world.server.rolePrefix}_hooks`;
    await world.succeed(['grant-reader', role], { DATABASE_URL: victim.databaseUrl });
    await world.succeed(['webhook', 'add', 'hostile', '--url', webhookListener.url, '--role', role], {
      DATABASE_URL: victim.databaseUrl,
    });
    await waitFor('a delivery', () => (webhookListener.connections() > 0 ? true : undefined), 60_000);
    const [cpuBefore, { checkpoint }] = [cpuSeconds(victim.program.pid), await victim.state()];
    const earlierConnections = webhookListener.connections();
    await pause(watchedMs);
    const cpuPercent = ((cpuSeconds(victim.program.pid) - cpuBefore) * 1000) / watchedMs;
    const msPerDelivery = (cpuPercent * watchedMs) / Math.max(1, webhookListener.connections() - earlierConnections);
    const stateAfter = await victim.state();
    const bytes = webhookListener.taken();
    webhookListener.server.close();
    await dropRoles(victim.databaseUrl, role);
    const isHeld =
      stateAfter.exit === undefined &&
      stateAfter.livez === 200 &&
      stateAfter.checkpoint > checkpoint &&
      bytes < maxBytes &&
      (cpuPercent < maxCpu || msPerDelivery < maxMsPerDelivery);
    const observation = `${String(bytes)} bytes at most, ${(cpuPercent * 100).toFixed(0)} % of a processor, ${msPerDelivery.toFixed(1)} ms for each of ${String(webhookListener.connections())} connections`;
    return verdict(isHeld, `${observation}; checkpoint ${String(checkpoint)} to ${String(stateAfter.checkpoint)}`);
  },
});

async function dropRoles(url: string, role: string): Promise<void> {
  const client = await connected(url);
  await client.query(`drop owned by ${role}; drop role ${role}`).catch(() => undefined);
  await client.end();
}

const addresses = [
  'http://127.0.0.1:9/x',
  'https://127.0.0.1/x',
  'https://localhost/x',
  'https://localhost./x',
  'https://[::1]/x',
  'https://[::ffff:127.0.0.1]/x',
  'https://[::ffff:7f00:1]/x',
  'https://0/x',
  'https://0x7f000001/x',
  'https://2130706433/x',
  'https://017700000001/x',
  'https://127.1/x',
  'https://169.254.169.254/latest/meta-data',
  'https://[fd00:ec2::254]/x',
  'https://100.100.100.200/x',
  'https://10.0.0.1/x',
  'https://192.168.1.1/x',
  'https://100.64.0.1/x',
  'https://192.88.99.1/x',
  'https://[3fff::1]/x',
  'https://[5f00::1]/x',
  'https://[64:ff9b::7f00:1]/x',
  'https://[2002:7f00:1::]/x',
  'https://[fe80::1]/x',
  'https://224.0.0.1/x',
  'file:///etc/passwd',
  'gopher://example.com/x',
  'http://example.com/x',
];

/** Long enough for several deliveries: there are ten events per second. */
const deliveryMs = 5_000;

/**
 * The command may accept the address, because other settings of the webhook networks could allow it. With the default
 * networks, no delivery may connect to it.
 */
const address = (url: string, index: number): Attempt => ({
  id: `webhook-address-${String(index + 1)}`,
  what: `adds a webhook with the address ${url}`,
  expected: 'the command refuses it, or nothing connects to this machine',
  run: async (world) => {
    const webhookListener = await listen({ id: '', what: '', first: '' });
    const name = `attack${String(index)}`;
    const localUrl = url.replace(/^(https?:\/\/[^/]+?)(?::\d+)?\//, `$1:${new URL(webhookListener.url).port}/`);
    const argv = ['webhook', 'add', name, '--url', localUrl, '--role', world.tokens.all.role];
    const { code, stderr } = await world.command(argv);
    if (code === 0) {
      await pause(deliveryMs);
      await world.command(['webhook', 'remove', name]);
    }
    const connections = webhookListener.connections();
    webhookListener.server.close();
    return verdict(
      connections === 0 && code !== 70,
      `exit ${String(code)}, ${String(connections)} connections: ${stderr}`,
    );
  },
});

/** A webhook role that may do more than read. */
const roles = (['writer', 'redactor', 'owner'] as const).map((login): Attempt => ({
  id: `webhook-role-${login}`,
  what: `adds a webhook that reads as the ${login}`,
  expected: 'the command refuses it',
  run: async (world: World) => {
    const { code, stderr } = await world.command([
      'webhook',
      'add',
      'attack',
      '--url',
      'https://receiver.example/x',
      '--role',
      world.role(login),
    ]);
    return verdict(code !== 0 && code !== 70, `exit ${String(code)}: ${stderr}`);
  },
}));

export const webhooks: Group = {
  name: 'webhooks',
  what: 'receivers of webhooks and their addresses',
  quick: false,
  attempts: [...addresses.map(address), ...roles, ...receivers.map(receiver)],
};
