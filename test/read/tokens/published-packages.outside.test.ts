/**
 * Uploads the DARs of the published test tokens to the sandbox, and runs and indexes every flow of both versions of the
 * token standard. The results are compared with books that are computed from raw payloads.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../src/daml/package-archive.ts';
import type { ChoiceModel, PackageModel } from '../../../src/daml/package-model.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { createLedgerClient } from '../../../src/ledger/api/client.ts';
import type { WrittenPackage } from '../../../packages/ledger-sandbox/src/daml-lf/declaration.ts';
import { startParticipant, type Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { CreatedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { PayloadValidator } from '../../../packages/ledger-sandbox/test/demo/payload-validator.ts';
import { archivesOf, darsSkipReason, payloadIn } from '../../daml/dars.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { needs } from '../../support/skips/needs.ts';
import { darsFolder } from '../../support/wire/recorded.ts';
import { TokenFlows, movements, playTokenFlows } from './published-flows.ts';
import { publishedModels } from './published-models.ts';
import { keyOf, units } from './token-books.ts';

const dars = ['splice-test-token-v1-1.0.0.dar', 'splice-test-token-v2-1.0.0.dar'];

interface Archive {
  readonly model: PackageModel;
  readonly bytes: Uint8Array;
}

/** The distinct packages of both DARs. */
function archives(): readonly Archive[] {
  const archiveList = dars.flatMap((dar) => [...archivesOf(dar).values()]);
  const readArchives = archiveList.map((bytes) => ({ bytes, model: readPackageArchive(bytes) }));
  return [...new Map(readArchives.map((archive) => [archive.model.packageId, archive])).values()];
}

function vettedPackage({ model, bytes }: Archive): WrittenPackage {
  const { packageId: id, name, version, templates, interfaces: interfaceModels } = model;
  const names = (entities: readonly { moduleName: string; entityName: string }[]): string[] =>
    entities.map(({ moduleName, entityName }) => `${moduleName}:${entityName}`);
  const declaration = { name, version, imports: [], modules: {} };
  const payload = new Uint8Array(payloadIn(bytes));
  return { id, name, version, payload, templates: names(templates), interfaces: names(interfaceModels), declaration };
}

describe('published test tokens', needs(darsSkipReason), () => {
  let sandbox: Sandbox;
  let database: TestDatabase;
  let transactions: readonly Transaction[];
  const models: PackageModel[] = [];
  beforeAll(async () => {
    const archiveList = archives();
    models.push(...archiveList.map(({ model }) => model));
    const world = {
      participantId: 'published::1220',
      packages: archiveList.map(vettedPackage),
      templates: publishedModels(),
    };
    sandbox = await startParticipant(world, { limits: { checkpointIntervalMs: 50 } });
    const tokenSource = createTokenSource({});
    const { url } = sandbox;
    const client = createLedgerClient({ url, tokenSource, insecure: false, requestTimeoutMs: 10_000 });
    for (const dar of dars) await client.packages.uploadDar(readFileSync(join(darsFolder, dar)));
    playTokenFlows(new TokenFlows(sandbox));
    transactions = sandbox.ledger
      .range(0, sandbox.ledger.ledgerEnd(), Infinity)
      .flatMap(({ update }) => (update !== undefined && 'Transaction' in update ? [update.Transaction.value] : []));
    database = await createTestDatabase();
    const env = { LEDGER_URL: url, DATABASE_URL: database.url, LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' };
    await using indexer = await runIndexer(env);
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  }, 120_000);
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('have payloads of the declared types in every event', () => {
    const validator = new PayloadValidator(models);
    const faults = transactions.flatMap(({ events }) =>
      events.flatMap((event): readonly string[] => {
        if ('CreatedEvent' in event) {
          const { templateId, createArgument } = event.CreatedEvent;
          return validator.faults(createArgument, { kind: 'named', name: templateId, arguments: [] }, templateId);
        }
        if (!('ExercisedEvent' in event)) return [];
        const { interfaceId, templateId, choice, choiceArgument, exerciseResult } = event.ExercisedEvent;
        const declaredChoice = choiceOf(models, interfaceId ?? templateId, choice);
        if (declaredChoice === undefined) return [`${interfaceId ?? templateId} has no ${choice}`];
        return [
          ...validator.faults(choiceArgument, declaredChoice.argument, `${choice} argument`),
          ...validator.faults(exerciseResult, declaredChoice.result, `${choice} result`),
        ];
      }),
    );
    expect(faults).toEqual([]);
  });

  it('are stored with the ids of their own packages', async () => {
    const rows = await query(
      database.url,
      `select distinct package_name, package_id from ledger.templates where package_name like 'splice-test-token%' order by 1`,
    );
    const spliceModels = models.filter(({ name }) => name.startsWith('splice-test-token'));
    expect(rows).toEqual(
      spliceModels
        .map(({ name, packageId }) => ({ package_name: name, package_id: packageId }))
        .sort((a, b) => (a.package_name < b.package_name ? -1 : 1)),
    );
  });

  it('have each movement once in token_transfers, without discrepancies', async () => {
    const rows = await query(
      database.url,
      `select kind, basis, sender, receiver, amount::text, instrument_id, reason from explore.token_transfers order by "offset", amount`,
    );
    expect(rows.map((row) => Object.values(row).join(' '))).toEqual(movements);
    expect(await query(database.url, 'select * from explore.token_discrepancies')).toEqual([]);
  });

  it('have balances that equal the payloads and the sum of changes, at every offset', async () => {
    const rows = await query(
      database.url,
      `select a.at, b.owner, b.provider, b.account_id, b.instrument_admin, b.instrument_id, b.total::text,
              (select sum(c.net)::text from explore.token_changes c
                where c."offset" <= a.at and c.instrument_id = b.instrument_id and c.owner = b.owner
                  and c.account_id = b.account_id and c.provider is not distinct from b.provider) as summed
         from generate_series(0, ${String(sandbox.ledger.ledgerEnd())}) a (at) cross join lateral explore.token_balances_at(a.at) b`,
    );
    const key = (row: Readonly<Record<string, unknown>>): string =>
      keyOf(row['owner'], row['provider'], row['account_id'], row['instrument_admin'], row['instrument_id']);
    const lines = rows.map((row) => [row['at'], key(row), units(row['total'])].map(String).join(' | '));
    const bookBalances = [...balancesAtEach(transactions, sandbox.ledger.ledgerEnd())].flatMap(([offset, balances]) =>
      [...balances].map(([holdingKey, amount]) => [offset, holdingKey, amount].map(String).join(' | ')),
    );
    expect(lines.toSorted()).toEqual(bookBalances.toSorted());
    expect(rows.filter((row) => units(row['summed']) !== units(row['total']))).toEqual([]);
    expect(rows.length).toBeGreaterThan(100);
  });

  it('have a pending transfer with its parties and the account of the receiver', async () => {
    const pendingRows = await query(
      database.url,
      'select standard, sender, receiver, receiver_provider, receiver_account_id, amount::text from explore.pending_transfer_instructions',
    );
    expect(pendingRows).toEqual([
      {
        standard: 'V2',
        sender: 'alice',
        receiver: 'bob',
        receiver_provider: 'venue',
        receiver_account_id: 'custody',
        amount: '0.7500000000',
      },
    ]);
  });
});

function choiceOf(models: readonly PackageModel[], id: string, name: string): ChoiceModel | undefined {
  const model = models.find(({ packageId }) => id.startsWith(packageId));
  const entities = [...(model?.templates ?? []), ...(model?.interfaces ?? [])];
  const entity = entities.find((modelEntity) => id.endsWith(`:${modelEntity.moduleName}:${modelEntity.entityName}`));
  return entity?.choices.find((choice) => choice.name === name);
}

/**
 * Balance in a payload: a token of either version, or a pending instruction of version 1, which is itself a holding.
 */
function holdingOf({ templateId, createArgument: payload }: CreatedEvent): { key: string; amount: bigint } | undefined {
  const valueAt = (value: unknown, ...path: string[]): unknown =>
    path.reduce<unknown>((current, field) => (current as Record<string, unknown> | null | undefined)?.[field], value);
  const entity = templateId.slice(templateId.indexOf(':') + 1);
  const tokenHolding = (record: unknown, owner: string): { key: string; amount: bigint } => ({
    key: keyOf(
      valueAt(record, owner),
      '',
      '',
      valueAt(record, 'instrumentId', 'admin'),
      valueAt(record, 'instrumentId', 'id'),
    ),
    amount: units(valueAt(record, 'amount')),
  });
  switch (entity) {
    case 'Splice.Testing.Tokens.TestTokenV1:Token':
      return tokenHolding(payload['holding'], 'owner');
    case 'Splice.Testing.Tokens.TestTokenV1:TokenTransferOffer':
      return tokenHolding(payload['transfer'], 'sender');
    case 'Splice.Testing.Tokens.TestTokenV1:TokenAllocation':
      return tokenHolding(valueAt(payload, 'allocation', 'transferLeg'), 'sender');
    case 'Splice.Testing.Tokens.TestTokenV2.Holding:Token': {
      const [owner, provider, id] = ['owner', 'provider', 'id'].map((field) =>
        valueAt(payload, 'holding', 'account', field),
      );
      const [adminField, instrumentId] = ['admin', 'id'].map((field) =>
        valueAt(payload, 'holding', 'instrumentId', field),
      );
      return {
        key: keyOf(owner, provider, id, adminField, instrumentId),
        amount: units(valueAt(payload, 'holding', 'amount')),
      };
    }
    default:
      return undefined;
  }
}

/** Balances of all accounts after each offset. */
function* balancesAtEach(
  transactions: readonly Transaction[],
  end: number,
): Generator<readonly [number, ReadonlyMap<string, bigint>]> {
  const holdingsById = new Map<string, { key: string; amount: bigint }>();
  const transactionsByOffset = new Map(transactions.map((transaction) => [transaction.offset, transaction.events]));
  for (let offset = 0; offset <= end; offset += 1) {
    for (const event of transactionsByOffset.get(offset) ?? []) {
      if ('CreatedEvent' in event) {
        const holding = holdingOf(event.CreatedEvent);
        if (holding !== undefined) holdingsById.set(event.CreatedEvent.contractId, holding);
      } else if ('ExercisedEvent' in event && event.ExercisedEvent.consuming) {
        holdingsById.delete(event.ExercisedEvent.contractId);
      }
    }
    const balances = new Map<string, bigint>();
    for (const { key, amount } of holdingsById.values()) balances.set(key, (balances.get(key) ?? 0n) + amount);
    yield [offset, balances];
  }
}
