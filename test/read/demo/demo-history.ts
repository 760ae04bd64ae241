/**
 * Indexes a month of the demo, the minutes after it and its package upgrade into a database. Also returns the data of
 * the ledger for comparison.
 */
import { Client } from 'pg';
import { demoInterfaces, interfaces } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import type { JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { CreatedEvent, ExercisedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { runIndexer, type IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { playDemo } from '../../support/demo-play.ts';
import { pause, waitFor } from '../../support/wait-for.ts';

const seed = 17;

/** Templates and interfaces for which the filter of the test requests views. */
export const viewed: readonly string[] = [
  ...demoInterfaces.map((name) => name.slice(1)),
  interfaces.transferFactory,
  interfaces.allocationFactory,
];

/** Accounts have a key, unlike all templates of the demo. */
function createAccounts(ledger: Ledger): void {
  for (const number of ['1', '2']) {
    const account = { bank: 'bank', owner: 'owner', number, balance: '10', version: '1' };
    ledger.create('#sandbox-test:Keyed:Account', account, ['bank']);
  }
}

/** A contract as the ledger knows it. */
export interface KnownContract {
  /** `package-name:Module:Entity` */
  readonly name: string;
  readonly created: CreatedEvent;
  readonly payload: JsonObject;
}

/** Data of the ledger. */
export class World {
  readonly #ledger: Ledger;
  readonly transactions: readonly Transaction[];
  /** Updates that changed contracts: transactions and reassignments. */
  readonly updates: number;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    const allUpdates = ledger.range(0, ledger.ledgerEnd(), Infinity);
    this.updates = allUpdates.filter(({ update }) => update !== undefined && !('TopologyTransaction' in update)).length;
    this.transactions = allUpdates.flatMap(({ update }) =>
      update !== undefined && 'Transaction' in update ? [update.Transaction.value] : [],
    );
  }

  get end(): number {
    return this.#ledger.ledgerEnd();
  }

  /** The contracts of a template that were active at an offset. */
  active(name: string, offset = this.end): readonly KnownContract[] {
    return [...this.#ledger.activeAt(offset)]
      .filter(({ activation }) => activation.unassigned === undefined)
      .map(({ activation }) => knownContract(activation.created))
      .filter((view) => name === '' || view.name === name);
  }

  /** The active views of an interface, with the ids of their contracts. */
  views(interfaceName: string): readonly { readonly contractId: string; readonly view: JsonObject }[] {
    return this.active('').flatMap(({ name, created, payload }) =>
      this.#ledger.model
        .interfacesOf(name)
        .filter((implementation) => implementation.name === interfaceName)
        .map((implementation) => ({ contractId: created.contractId, view: implementation.view(payload) })),
    );
  }

  /** All created contracts of a template, with their offsets. */
  creates(name: string): readonly (KnownContract & { readonly offset: number })[] {
    return this.transactions.flatMap(({ offset, events }) =>
      events
        .flatMap((event) => ('CreatedEvent' in event ? [{ ...knownContract(event.CreatedEvent), offset }] : []))
        .filter((view) => view.name === name),
    );
  }

  /** All exercises of a choice, with their transactions. */
  exercises(choice: string): readonly (ExercisedEvent & { readonly transaction: Transaction })[] {
    return this.transactions.flatMap((transaction) =>
      transaction.events.flatMap((event) =>
        'ExercisedEvent' in event && event.ExercisedEvent.choice === choice
          ? [{ ...event.ExercisedEvent, transaction }]
          : [],
      ),
    );
  }
}

function knownContract(createdEvent: CreatedEvent): KnownContract {
  const name = `${createdEvent.packageName}:${createdEvent.templateId.slice(createdEvent.templateId.indexOf(':') + 1)}`;
  return { name, created: createdEvent, payload: createdEvent.createArgument };
}

export interface DemoDatabase extends AsyncDisposable {
  readonly url: string;
  readonly world: World;
  readonly indexer: IndexerRun;
  /** Rows of a statement, with the search path of a PQS user. */
  query(sql: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** Waits until no package was read and no view was created for one second. */
async function waitUntilStable(query: DemoDatabase['query']): Promise<void> {
  const state = 'select (select count(*) from ledger.packages), (select count(*) from ledger.typed_columns)';
  const computeHistory = async (): Promise<string> => JSON.stringify(await query(state));
  let previousText: string;
  do {
    previousText = await computeHistory();
    await pause(1_000);
  } while ((await computeHistory()) !== previousText);
}

/** Runs the demo and indexes its complete history. */
export async function indexDemo(): Promise<DemoDatabase> {
  const sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
  playDemo(sandbox.ledger, seed);
  createAccounts(sandbox.ledger);
  const database = await createMigratedDatabase(['ledger']);
  const indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: viewed.map((name) => `#${name}`).join(','),
    LEDGER_CREATED_EVENT_BLOBS: 'true',
  });
  const reader = new Client({ connectionString: database.url });
  await reader.connect();
  const query: DemoDatabase['query'] = async (sql, ...values) => (await reader.query(sql, values)).rows;
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 120_000);
  // Views are created in the background. The view of licenses gets the column of the upgrade after all packages are
  // read.
  const seats = `select from information_schema.columns where table_name = 'quickstart_licensing__license' and column_name = 'seats'`;
  await waitFor('the typed views appear', async () => ((await query(seats)).length > 0 ? true : undefined), 60_000);
  await waitUntilStable(query);
  // Autovacuum would do this within a minute.
  await query('analyze');
  await query('set search_path = pqs');
  return {
    url: database.url,
    world: new World(sandbox.ledger),
    indexer,
    query,
    [Symbol.asyncDispose]: async () => {
      await reader.end();
      await indexer[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}
