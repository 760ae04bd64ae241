// Measures the size of a demo after a long time: runs its ledger at the usual rate on an accelerated clock, and starts it again
// at each mark in a new process. Prints a table.
//   node scripts/demo-growth.mjs            (after `npm run build`)
//   DEMO_MARKS   numbers of updates at which it is measured, default 10000,100000,1000000,2000000
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const perSecond = 5;
const mib = 2 ** 20;
const marks = (process.env.DEMO_MARKS ?? '10000,100000,1000000,2000000').split(',').map(Number);

if (process.argv[2] === 'run') await run(process.argv[3], Number(process.argv[4]), Number(process.argv[5]));
else measure();

function measure() {
  const folder = mkdtempSync(join(tmpdir(), 'demo-growth-'));
  const journal = join(folder, 'journal');
  const row = (cells) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
  row([
    'updates',
    'offsets kept',
    'active',
    'heap, MiB',
    'RSS, MiB',
    'snapshot, MiB',
    'start, s',
    'heap then',
    'RSS then',
  ]);
  row(Array(9).fill('---:'));
  try {
    let from = 0;
    for (const mark of marks) {
      const ran = inProcess(journal, from, mark);
      const started = inProcess(journal, mark, mark);
      from = mark;
      row([
        mark.toLocaleString('en'),
        ran.offsets.toLocaleString('en'),
        ran.active.toLocaleString('en'),
        ran.heap,
        ran.rss,
        (statSync(`${journal}.snapshot`).size / mib).toFixed(0),
        started.startSeconds.toFixed(1),
        started.heap,
        started.rss,
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function inProcess(journal, from, to) {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), 'run', journal, String(from), String(to)];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Runs from one mark, where the previous run stopped, to the next one. Days pass in minutes. */
async function run(journal, from, to) {
  const { startDemoLedger } = await import('ledger-indexer-sandbox/demo/demo-ledger');
  const startAt = Date.UTC(2026, 2, 2);
  // Pauses make the traffic slightly slower than its rate, so the factor ensures that no start is before the previous
  // end.
  let time = startAt + (from / perSecond) * 1_500;
  const now = () => (time += 100_000);
  const began = performance.now();
  const ledger = await startDemoLedger({ seed: 1, updatesPerSecond: perSecond, journal, now, startAt, stopAt: to });
  const startSeconds = (performance.now() - began) / 1_000;
  while (ledger.updates() < to) await sleep(50);
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  const active = await activeOf(ledger);
  const offsets = ledger.ledgerEnd() - ledger.prunedTo();
  const facts = { startSeconds, offsets, active, heap: Math.round(heapUsed / mib), rss: Math.round(rss / mib) };
  process.stdout.write(JSON.stringify(facts));
  await ledger.close();
}

async function activeOf(ledger) {
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(`${ledger.url.replace('http', 'ws')}/v2/state/active-contracts`, ['daml.ws.auth']);
  const eventFormat = { filtersByParty: {}, filtersForAnyParty: {}, verbose: false };
  const request = { activeAtOffset: ledger.ledgerEnd(), eventFormat };
  let count = 0;
  socket.on('message', () => (count += 1));
  socket.on('open', () => socket.send(JSON.stringify(request)));
  await once(socket, 'close');
  return count;
}
