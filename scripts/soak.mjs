// A long catch-up under load, to measure speed and memory: a sandbox ledger with many updates, a Postgres and the built
// daemon, each in its own process. Prints one table and leaves nothing behind.
//   node scripts/soak.mjs            (after `npm run build`)
//   SOAK_UPDATES   number of updates of the ledger, default 300000
//   SOAK_HEAP_MIB  heap limit of the daemon, default 160
//   DATABASE_URL   URL of an empty database, used instead of an embedded server; it must not contain the schema `soak`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const updates = Number(process.env.SOAK_UPDATES ?? 300_000);
// Without a limit, the garbage collector of Node waits until memory is scarce, which looks like a leak.
const heapMiB = Number(process.env.SOAK_HEAP_MIB ?? 160);
const dist = new URL('../dist/', import.meta.url);
const schema = 'soak';
const sampleMs = 1_000;
const limitMs = Number(process.env.SOAK_LIMIT_SECONDS ?? 900) * 1_000;

const ledgerProgram = `
  const { startSandbox } = await import(${JSON.stringify(import.meta.resolve('ledger-indexer-sandbox/demo/sandbox'))});
  const { generateHistory } = await import(${JSON.stringify(import.meta.resolve('ledger-indexer-sandbox/demo/traffic'))});
  const sandbox = await startSandbox({ seed: 1 });
  generateHistory(sandbox.ledger, { seed: 1, updates: ${updates}, gapMs: 100 });
  console.log(JSON.stringify({ url: sandbox.url, ledgerEnd: sandbox.ledger.ledgerEnd() }));
`;

/**
 * Cleanup steps, which run in reverse order in all cases, even after Ctrl-C, or when a reader of the output such as
 * `head` has exited.
 */
const undo = [];
const interrupted = new Promise((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => reject(new Error(`ended by ${signal}`)));
});
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
try {
  await Promise.race([soak(), interrupted]);
} catch (error) {
  process.stderr.write(`soak: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const step of undo.toReversed()) await step();
}
// An interrupted run may still wait for a process that has ended.
process.exit();

async function soak() {
  say(`making a ledger of ${updates} updates`);
  const ledger = start(['--max-old-space-size=4096', '--input-type=module', '-e', ledgerProgram], {});
  const { url: ledgerUrl, ledgerEnd } = JSON.parse(await firstLine(ledger, () => true));
  const databaseUrl = process.env.DATABASE_URL ?? (await embeddedPostgres());
  say(`ledger end ${ledgerEnd}; the daemon starts from genesis`);
  const started = performance.now();
  const daemon = start([`--max-old-space-size=${heapMiB}`, fileURLToPath(new URL('main.js', dist))], {
    LEDGER_URL: ledgerUrl,
    DATABASE_URL: databaseUrl,
    POSTGRES_SCHEMA: schema,
    INDEXER_START: 'genesis',
    INDEXER_HTTP_PORT: '0',
    INDEXER_LOG_FORMAT: 'json',
  });
  const { http } = JSON.parse(await firstLine(daemon, (line) => line.includes('"http"')));
  const samples = await follow(daemon, http, ledgerEnd, started);
  report(samples);
}

/** Takes samples until everything is stored. A sample is {seconds, checkpoint, events, updates, rssMiB}. */
async function follow(daemon, http, ledgerEnd, started) {
  const samples = [];
  for (;;) {
    if (daemon.exitCode !== null) throw new Error(`the daemon ended with code ${daemon.exitCode}`);
    const status = await (await fetch(`${http}/status`)).json();
    if (status.state === 'parked') throw new Error(`the daemon is parked: ${status.reason}`);
    const seconds = (performance.now() - started) / 1_000;
    const checkpoint = status.checkpoint ?? 0;
    // OffsetCheckpoints of the ledger are counted as a kind, but are not updates.
    const { offset_checkpoint: _, ...kinds } = status.counts.updates;
    const sample = { seconds, checkpoint, events: total(status.counts.events), updates: total(kinds) };
    samples.push({ ...sample, rssMiB: rssMiB(daemon.pid), share: checkpoint / ledgerEnd });
    if (checkpoint >= ledgerEnd) return samples;
    if (seconds * 1_000 > limitMs) throw new Error(`not done after ${limitMs / 1_000} s, at offset ${checkpoint}`);
    await sleep(sampleMs);
  }
}

function report(samples) {
  const last = samples.at(-1);
  const at = (share) => samples.find((sample) => sample.share >= share)?.rssMiB ?? 0;
  const rows = [
    ['updates', last.updates],
    ['events', last.events],
    ['seconds', last.seconds.toFixed(1)],
    ['updates/s', Math.round(last.updates / last.seconds)],
    ['events/s', Math.round(last.events / last.seconds)],
    ...[0.25, 0.5, 0.75, 1].map((share) => [`RSS at ${share * 100} % (MiB)`, at(share)]),
    ['RSS max (MiB)', Math.max(...samples.map(({ rssMiB: rss }) => rss))],
  ];
  for (const [name, value] of rows) process.stdout.write(`${name.padEnd(20)} ${String(value).padStart(10)}\n`);
}

function total(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Resident memory of a process, MiB; 0 if /proc does not exist. */
function rssMiB(pid) {
  try {
    const [, kiB] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kiB ?? 0) / 1024);
  } catch {
    return 0;
  }
}

async function embeddedPostgres() {
  const { startEmbeddedPostgres } = await import('ledger-indexer-postgres/embedded-postgres');
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-soak-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  undo.push(() => server.stop());
  return server.url;
}

/** Starts a Node process that ends with this one. */
function start(args, env) {
  // Only PATH is passed on, because the variables of this shell are not part of the experiment.
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  undo.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  });
  return child;
}

/** The first matching line of its output. Later output is read and discarded, so that the pipe is never full. */
function firstLine(child, fits) {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a child process ended early with code ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (fits(line)) resolve(line);
    });
  });
}

function say(text) {
  process.stderr.write(`soak: ${text}\n`);
}
