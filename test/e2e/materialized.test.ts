/** A daemon that keeps a table of active contracts, killed while it seeds, fills and follows, ends up with the right rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLedgerClient } from '../../src/ledger/client.ts';
import { createTokenSource } from '../../src/ledger/token.ts';
import { Random } from '../../src/sandbox/random.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { recordDar } from '../read/typed-dar.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { alice, created, exercised, transaction, type JsonRecord } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { startDaemon } from './daemon.ts';

const version = recordDar({
  name: 'harbor',
  version: '1.0.0',
  templates: ['Berth'],
  records: { Berth: { owner: 'text', size: 'int64' } },
});
const templateId = `${version.packageId}:Main:Berth`;

const byHand = `select c.contract_id, c.payload ->> 'owner' as owner, (c.payload ->> 'size')::bigint as size
  from ledger.lifetimes l
  join ledger.contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
 where l.deactivated_offset is null`;
const throughView = 'select contract_id, owner, size from typed.harbor__berth';

/** Transactions of 20 creates, each of which may end in a later one. */
class Berths {
  readonly #sandbox: Sandbox;
  readonly #random = new Random(11);
  readonly #live: string[] = [];
  #made = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  grow(transactions: number): void {
    for (let at = 0; at < transactions; at += 1) {
      const offset = this.#sandbox.ledger.ledgerEnd() + 1;
      const events = Array.from({ length: 20 }, (_, nodeId) => this.#event(offset, nodeId));
      this.#sandbox.ledger.appendRaw(transaction(offset, events));
    }
  }

  #event(offset: number, nodeId: number): JsonRecord {
    const package_ = { offset, nodeId, templateId, packageName: 'harbor' };
    if (this.#live.length > 0 && this.#random.between(0, 9) < 4) {
      const [contractId = ''] = this.#live.splice(this.#random.between(0, this.#live.length - 1), 1);
      const archive = { contractId, choice: 'Archive', interfaceId: null, implementedInterfaces: [] };
      return { ExercisedEvent: exercised({ ...package_, ...archive, lastDescendantNodeId: nodeId }) };
    }
    const contractId = `00${(this.#made += 1).toString(16).padStart(8, '0')}`;
    this.#live.push(contractId);
    const createArgument = { owner: alice, size: String(this.#made) };
    return { CreatedEvent: created({ ...package_, contractId, createArgument, interfaceViews: [] }) };
  }
}

it('has every active contract in the table, however often and whenever it was killed', async () => {
  await using sandbox = await disposable(await startSandbox({ limits: { checkpointIntervalMs: 50 } }));
  await using database = await createTestDatabase();
  const tokenSource = createTokenSource({});
  const client = createLedgerClient({ url: sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 10_000 });
  await client.packages.uploadDar(version.dar);
  const berths = new Berths(sandbox);
  berths.grow(1_000);
  const start = () =>
    startDaemon({
      ledgerUrl: sandbox.url,
      databaseUrl: database.url,
      schema: 'ledger',
      env: { INDEXER_MATERIALIZE: '#harbor:Main:Berth(owner)', INDEXER_BATCH_UPDATES: '20' },
    });
  const states = new Set<unknown>();
  const stateOf = async (): Promise<unknown> => {
    const [row] = await query(database.url, 'select state from ledger.materialized').catch(() => []);
    return row?.['state'];
  };
  const random = new Random(3);
  for (let life = 0; life < 10; life += 1) {
    await using daemon = start();
    await daemon.logged('starting');
    // The first are killed somewhere on the way to a table that is ready, the others while it is kept.
    if (life < 6) await sleep(random.between(500, 2_500));
    else await waitFor('the table is filled', async () => ((await stateOf()) === 'ready' ? true : undefined));
    berths.grow(100);
    await sleep(random.between(0, 300));
    expect(daemon.exit()).toBeUndefined();
    states.add(await stateOf());
    await daemon.kill();
  }
  await using last = start();
  const end = String(sandbox.ledger.ledgerEnd());
  await waitFor('everything is stored and the table is filled', async () => {
    const [row] = await query(
      database.url,
      `select checkpoint, (select state from ledger.materialized) as state from ledger.stream`,
    ).catch(() => []);
    if (last.exit() !== undefined) throw new Error(last.output().slice(-2_000));
    return row?.['checkpoint'] === end && row['state'] === 'ready' ? true : undefined;
  });
  const [view] = await query(database.url, `select pg_get_viewdef('typed.harbor__berth'::regclass) as text`);
  expect(view?.['text']).toContain('harbor__berth__active');
  expect(await query(database.url, `${byHand} except all ${throughView}`)).toEqual([]);
  expect(await query(database.url, `${throughView} except all ${byHand}`)).toEqual([]);
  const [count] = await query(database.url, 'select count(*)::int as count from typed.harbor__berth');
  console.log(`10 SIGKILLs, states met: ${[...states].map(String).join(', ')}; ${String(count?.['count'])} active`);
  expect(count?.['count']).toBeGreaterThan(3_000);
  expect([...states]).toContain('ready');
});

async function disposable(sandbox: Sandbox): Promise<Sandbox & AsyncDisposable> {
  return Object.assign(sandbox, { [Symbol.asyncDispose]: () => sandbox.close() });
}
