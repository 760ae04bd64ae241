/** Uses `ledger-indexer/testing` as the tests of an application do. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { getContainerRuntimeClient, Wait } from 'testcontainers';
import { describe, expect, it } from 'vitest';
import { startLedgerIndexer, type LedgerIndexer, type TestTemplate } from '../../src/testing/ledger-indexer.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { compiled, darOf } from '../../packages/ledger-sandbox/test/packages/dars.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

const server = (): string => process.env['TEST_POSTGRES_URL'] ?? '';

const invoice: TestTemplate = {
  name: 'billing:Billing:Invoice',
  signatories: ({ seller }) => [seller],
  observers: ({ buyer }) => [buyer],
  choices: {
    Pay: {
      consuming: true,
      controllers: ({ buyer }) => [buyer],
      run: ({ payload, argument, create }) => create('billing:Billing:Receipt', { ...payload, ...argument }),
    },
  },
};
const receipt: TestTemplate = {
  name: 'billing:Billing:Receipt',
  signatories: ({ seller, buyer }) => [seller, buyer],
};

async function invoiceOf(ledgerIndexer: LedgerIndexer): Promise<{ seller: string; buyer: string; offset: number }> {
  const seller = await ledgerIndexer.allocateParty('seller');
  const buyer = await ledgerIndexer.allocateParty('buyer');
  const createArguments = { seller, buyer, amount: '12.50' };
  const commands = [{ CreateCommand: { templateId: '#billing:Billing:Invoice', createArguments } }];
  return { seller, buyer, offset: await ledgerIndexer.submit({ actAs: [seller], commands }) };
}

const folders = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('ledger-indexer-testing-'));

async function databases(): Promise<readonly unknown[]> {
  const ownDatabasesSql = "select datname from pg_database where datname like 'ledger\\_indexer\\_%'";
  return (await query(server(), ownDatabasesSql)).map(({ datname }) => datname);
}

describe('startLedgerIndexer()', () => {
  it('starts without configuration, and stop() leaves no process and no folder', async () => {
    const startMs = performance.now();
    const ledgerIndexer = await startLedgerIndexer({ templates: [invoice, receipt] });
    const elapsedMs = performance.now() - startMs;
    console.log(`embedded Postgres, sandbox and indexer ready after ${elapsedMs.toFixed(0)} ms`);
    // Other test suites on this machine may have folders with similar names.
    const [data] = await ledgerIndexer.query<{ at: string }>("select current_setting('data_directory') as at");
    const ownFolder = folders().find((name) => data?.at.includes(name) === true);
    expect(ownFolder).toBeDefined();
    const pid = (await ledgerIndexer.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid ?? 0;
    expect(existsSync(`/proc/${String(pid)}`)).toBe(process.platform === 'linux');
    await ledgerIndexer.stop();
    await ledgerIndexer.stop();
    expect(folders()).not.toContain(ownFolder);
    expect(existsSync(`/proc/${String(pid)}`)).toBe(false);
    await expect(fetch(`${ledgerIndexer.httpUrl}/livez`)).rejects.toThrow();
    await expect(fetch(`${ledgerIndexer.ledgerUrl}/v2/version`)).rejects.toThrow();
  });

  it('indexes contracts and exercises of a template that the test defines', async () => {
    await using ledgerIndexer = await startLedgerIndexer({ databaseUrl: server(), templates: [invoice, receipt] });
    const { seller, buyer, offset } = await invoiceOf(ledgerIndexer);
    await ledgerIndexer.waitFor(offset);
    const activeRows = await ledgerIndexer.query<{ contract_id: string; amount: string; signatories: string[] }>(
      "select contract_id, payload ->> 'amount' as amount, signatories from explore.active($1)",
      ['billing:Billing:Invoice'],
    );
    expect(activeRows).toEqual([{ contract_id: expect.any(String) as string, amount: '12.50', signatories: [seller] }]);
    const contractId = activeRows[0]?.contract_id;
    const templateId = '#billing:Billing:Invoice';
    const pay = { ExerciseCommand: { templateId, contractId, choice: 'Pay', choiceArgument: { note: 'thanks' } } };
    await expect(ledgerIndexer.submit({ actAs: [seller], commands: [pay] })).rejects.toThrow(/requires authorizers/);
    // The receipt is signed by both parties: the seller signed the invoice, and the buyer exercises the choice.
    await ledgerIndexer.waitFor(await ledgerIndexer.submit({ actAs: [buyer], commands: [pay] }));
    expect(await ledgerIndexer.query("select payload ->> 'note' as note from explore.active('Receipt')")).toEqual([
      { note: 'thanks' },
    ]);
    expect(await ledgerIndexer.query('select choice, acting_parties from explore.exercises')).toEqual([
      { choice: 'Pay', acting_parties: [buyer] },
    ]);
  });

  it('isolates two concurrent stacks, and drops both databases on stop()', async () => {
    const options = { databaseUrl: server(), templates: [invoice] };
    const [firstIndexer, secondIndexer] = await Promise.all([startLedgerIndexer(options), startLedgerIndexer(options)]);
    const { offset } = await invoiceOf(firstIndexer);
    await firstIndexer.waitFor(offset);
    const count = "select count(*) as invoices from explore.active('billing:Billing:Invoice')";
    expect(await firstIndexer.query(count)).toEqual([{ invoices: 1 }]);
    expect(await secondIndexer.query('select count(*) as updates from ledger.updates')).toEqual([{ updates: 0 }]);
    await Promise.all([firstIndexer.stop(), secondIndexer.stop()]);
    const remainingNames = await databases();
    for (const { databaseUrl } of [firstIndexer, secondIndexer])
      expect(remainingNames).not.toContain(new URL(databaseUrl).pathname.slice(1));
  });

  it('uploads a DAR, passes options to the indexer, and forwards log lines', async () => {
    const lines: string[] = [];
    const env = { POSTGRES_SCHEMA: 'desk', INDEXER_LOG_LEVEL: 'debug' };
    await using ledgerIndexer = await startLedgerIndexer({
      databaseUrl: server(),
      env,
      log: (line) => lines.push(line),
    });
    const { id, archive } = compiled({ name: 'harbor-notes', version: '2.0.0', templates: ['Note'] });
    await ledgerIndexer.upload(darOf({ 'harbor-notes-2.0.0.dalf': archive }));
    expect(
      ((await (await fetch(`${ledgerIndexer.ledgerUrl}/v2/packages`)).json()) as { packageIds: string[] }).packageIds,
    ).toContain(id);
    expect(await ledgerIndexer.query('select schema_name from information_schema.schemata')).toContainEqual({
      schema_name: 'desk_explore',
    });
    expect(lines.some((line) => line.includes('"level":"info"'))).toBe(true);
  });

  it('rejects invalid queries, submissions and options, and cleans up after a failed start', async () => {
    const countBefore = (await databases()).length;
    {
      await using ledgerIndexer = await startLedgerIndexer({ databaseUrl: server() });
      await expect(ledgerIndexer.waitFor(1_000_000, 50)).rejects.toThrow(
        /did not reach 1000000 within 0.05 s; the indexer is live/,
      );
      await expect(ledgerIndexer.query('select nothing')).rejects.toThrow(/nothing/);
      const commands = [{ CreateCommand: { templateId: '#billing:Billing:Invoice', createArguments: {} } }];
      await expect(
        ledgerIndexer.submit({ actAs: [await ledgerIndexer.allocateParty('someone')], commands }),
      ).rejects.toMatchObject({
        facts: { ledgerCode: 'PACKAGE_NAMES_NOT_FOUND' },
      });
    }
    {
      await using ledgerIndexer = await startLedgerIndexer({ databaseUrl: server(), templates: [invoice] });
      const commands = [{ CreateCommand: { templateId: '#billing:Billing:Invoice', createArguments: {} } }];
      await expect(ledgerIndexer.submit({ actAs: ['a::b'], commands })).rejects.toThrow(
        /signatories of billing:Billing:Invoice/,
      );
    }
    const failedStart = startLedgerIndexer({ databaseUrl: server(), env: { LEDGER_NONSENSE: '1' } });
    await expect(failedStart).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
    const parkedIndexer = startLedgerIndexer({ databaseUrl: server(), env: { LEDGER_TEMPLATES: '#no:No:No' } });
    await expect(parkedIndexer).rejects.toThrow(/the indexer is parked: LEDGER_FILTER_UNKNOWN/);
    expect(await databases()).toHaveLength(countBefore);
    await expect(startLedgerIndexer({ databaseUrl: 'postgres://x@127.0.0.1:1/x' })).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
  });

  it.each([
    ['ends', 'process.exit(3)'],
    ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ])('leaves no server if the process %s without stop()', async (_endName, end) => {
    assertBuilt();
    const module = new URL('../../dist/testing/ledger-indexer.js', import.meta.url).href;
    const script = `const { startLedgerIndexer } = await import(${JSON.stringify(module)});
      const on = await startLedgerIndexer();
      console.log(JSON.stringify(await on.query("select pg_backend_pid() as pid, current_setting('data_directory') as folder")));
      ${end};`;
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    const [{ pid, folder }] = JSON.parse(child.stdout) as [{ pid: number; folder: string }];
    await waitFor('the server is gone', () => (existsSync(`/proc/${String(pid)}`) ? undefined : true));
    await waitFor('its folder is gone', () => (existsSync(folder) ? undefined : true));
  });
});

describe('startLedgerIndexer() with testcontainers', () => {
  it('uses the server of a PostgreSqlContainer', async (context) => {
    const engine = await engineWithImage();
    if (typeof engine === 'string') context.skip(`needs a container engine: ${engine}`);
    const container = await new PostgreSqlContainer(image)
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
      .start();
    try {
      await using ledgerIndexer = await startLedgerIndexer({
        databaseUrl: container.getConnectionUri(),
        templates: [invoice],
      });
      await ledgerIndexer.waitFor((await invoiceOf(ledgerIndexer)).offset);
      expect(await ledgerIndexer.query('select template_fqn from explore.active_contracts')).toEqual([
        { template_fqn: 'billing:Billing:Invoice' },
      ]);
    } finally {
      await container.stop();
    }
  });
});

const image = process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine';

/** Why no container can be started from the image; undefined if one can. */
async function engineWithImage(): Promise<string | undefined> {
  try {
    const { container } = await getContainerRuntimeClient();
    const images = await container.dockerode.listImages();
    return images.some(({ RepoTags }) => RepoTags?.includes(image)) ? undefined : `the engine has no image ${image}`;
  } catch {
    return 'no container engine answers';
  }
}
