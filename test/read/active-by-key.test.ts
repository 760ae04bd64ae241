/** Compares the contracts that are found by the hash of their key with the written contracts, for any form of hash. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';
import * as frames from '../support/frames.ts';

/** Valid base64, base64 whose first byte equals the text marker, base64 with surplus bits, and invalid base64. */
const hashes = ['AAECAwQ=', '/wAB', 'AAEB//8=', 'AAF=', 'not base64', 'ünlesbar'];
const templates = ['Account', 'Wallet'].map((name) => `${'ab'.repeat(32)}:Main:${name}`);

interface KeyedContract {
  readonly contractId: string;
  readonly hash: string;
  readonly template: string;
}
/** For each hash and template, one active contract and one ended contract whose key has that hash. */
const contracts: readonly (KeyedContract & { readonly ends: boolean })[] = hashes.flatMap((hash, index) =>
  [false, true].flatMap((isEnded) =>
    templates.map((template, templateIndex) => ({
      contractId: `c${index}-${templateIndex}-${isEnded ? 'ends' : 'stays'}`,
      hash,
      template,
      ends: isEnded,
    })),
  ),
);

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  const key = { owner: frames.alice };
  const createdEvents = contracts.map(({ contractId, hash, template }, nodeId) => ({
    CreatedEvent: frames.created({
      offset: 1,
      nodeId,
      contractId,
      templateId: template,
      contractKey: key,
      contractKeyHash: hash,
    }),
  }));
  const keylessEvent = { CreatedEvent: frames.created({ offset: 1, nodeId: 99, contractId: 'keyless' }) };
  const endedContracts = contracts
    .filter(({ ends: isEnded }) => isEnded)
    .map(({ contractId, template }, nodeId) => ({
      ExercisedEvent: frames.exercised({ offset: 2, nodeId, contractId, templateId: template, choice: 'Archive' }),
    }));
  await database.write(frames.transaction(1, [...createdEvents, keylessEvent]), frames.transaction(2, endedContracts));
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const findActive = async (...args: readonly unknown[]): Promise<readonly string[]> => {
  const parameters = args.map((_, index) => `$${index + 1}`).join(', ');
  const rows = await database.query<{ contract_id: string }>(
    `select contract_id from explore.active_by_key(${parameters}) order by 1`,
    [...args],
  );
  return rows.map((row) => row.contract_id);
};
const activeIds = (hash: string, template?: string): readonly string[] =>
  contracts
    .filter(
      (contract) =>
        contract.hash === hash && !contract.ends && (template === undefined || contract.template === template),
    )
    .map(({ contractId }) => contractId)
    .sort();

describe('active_by_key', () => {
  it.each(hashes)('returns active contracts with key hash %j, of all templates or of one template', async (hash) => {
    expect(await findActive(hash)).toEqual(activeIds(hash));
    expect(await findActive(hash, 'Main:Wallet')).toEqual(activeIds(hash, templates[1]));
    expect(activeIds(hash)).toHaveLength(2);
  });

  it('returns no rows for an unknown hash or null', async () => {
    for (const hash of ['AAECAwQ', 'AAEC', '', null]) expect(await findActive(hash), String(hash)).toEqual([]);
  });

  it('returns the same rows and columns as explore.active_contracts', async () => {
    const sql = (source: string): string => `select a::text as line from ${source} a order by 1`;
    const viewRows = await database.query(
      sql(`(select * from explore.active_contracts where contract_id like 'c1-%')`),
    );
    expect(viewRows).toHaveLength(2);
    expect(await database.query(sql(`explore.active_by_key('${hashes[1] ?? ''}')`))).toEqual(viewRows);
  });

  it('uses the key index and no sequential scan', async () => {
    await database.query(`
      insert into contracts ("offset", node_id, origin, synchronizer_pk, template_pk, parties_pk, contract_id, contract_key_hash)
        select o, 0, 'c', 1, 1, 1, decode(md5(o::text), 'hex'), sha256(o::text::bytea) from generate_series(10, 5000) o;
      insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
        select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id from contracts where "offset" >= 10`);
    await database.query('vacuum analyze contracts, live');
    const plan = await database.plan(`select * from explore.active_by_key('AAECAwQ=', 'Wallet')`);
    expect(plan).toContain('contracts_key');
    expect(plan).toContain('live_template');
    expect(plan).not.toMatch(/Seq Scan on (contracts|live)/);
  });
});
