/** Users of the participant read through `/api` what the participant lets them read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { canReadAs, NodeWorld } from './world.ts';

/** Header that a proxy adds, so that the request does not count as local. */
const forwardedHeaders = { 'x-forwarded-for': '10.0.0.1' };

describe.each([
  ['as the owner', false],
  ['as the writer of grant-roles', true],
])('/api with tokens of the participant, connected %s', (_, isWriter) => {
  describe('a token', needs(limitsSkipReason), () => {
    let world: NodeWorld;
    let [alice, bob]: readonly string[] = [];
    let aliceToken: string;
    let bobToken: string;

    beforeAll(async () => {
      world = await NodeWorld.open(isWriter);
      [alice, bob] = await world.parties(2);
      aliceToken = await world.user('alice-api', canReadAs(alice ?? ''));
      bobToken = await world.user('bob-api', canReadAs(bob ?? ''));
    });
    afterAll(() => world[Symbol.asyncDispose]());

    async function get(path: string, token: string): Promise<{ status: number; text: string }> {
      const headers = { ...forwardedHeaders, authorization: `Bearer ${token}` };
      const response = await fetch(`${world.indexer.httpUrl}${path}`, { headers });
      return { status: response.status, text: await response.text() };
    }

    async function contractsOf(token: string): Promise<readonly string[]> {
      const { text } = await get('/api/contracts?state=all&limit=1000', token);
      const { rows } = JSON.parse(text) as { rows: readonly { contract_id: string }[] };
      return rows.map((row) => row.contract_id).toSorted();
    }

    async function expected(...parties: readonly string[]): Promise<readonly string[]> {
      const rows = await world.sqlAs(await world.reader(...parties), 'select contract_id as id from explore.contracts');
      return rows.map(({ id }) => String(id)).toSorted();
    }

    it('returns the contracts of the parties of its user, also to requests at the same time', async () => {
      const [ofAlice, ofBob] = [await expected(alice ?? ''), await expected(bob ?? '')];
      expect(ofAlice.length).toBeGreaterThan(5);
      expect(ofAlice).not.toEqual(ofBob);
      const lists = await Promise.all(
        Array.from({ length: 20 }, (_item, index) => contractsOf(index % 2 === 0 ? aliceToken : bobToken)),
      );
      for (const [index, list] of lists.entries()) expect(list).toEqual(index % 2 === 0 ? ofAlice : ofBob);
    });

    it('returns nothing to a user without parties, and refuses a token of another issuer', async () => {
      const withoutRights = await world.user('no-rights-api');
      expect(await contractsOf(withoutRights)).toEqual([]);
      expect(
        (await get('/api/contracts', await world.tokenOf('alice-api', { iss: 'https://other.example' }))).status,
      ).toBe(401);
      expect((await get('/api/explain?id=1', withoutRights)).status).toBe(400);
    });

    it('leaves no rights behind in pooled connections', async () => {
      await Promise.all(Array.from({ length: 12 }, () => contractsOf(aliceToken)));
      expect(await world.sql('select * from ledger.node_sessions')).toEqual([]);
      const later = await world.user('later-api');
      expect(await contractsOf(later)).toEqual([]);
    });
  });
});
