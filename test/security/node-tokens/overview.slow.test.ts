/** Endpoints about all parties, and the guide of the query page, for users of the participant. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { canReadAs, NodeWorld } from './world.ts';

describe('a token of the participant', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  let aliceToken: string;
  let auditorToken: string;

  beforeAll(async () => {
    world = await NodeWorld.open();
    const [alice = ''] = await world.parties(1);
    aliceToken = await world.user('alice-user', canReadAs(alice));
    auditorToken = await world.user('auditor', { kind: { CanReadAsAnyParty: { value: {} } } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function statusOf(path: string, token?: string): Promise<number> {
    const stop = new AbortController();
    const headers = {
      'x-forwarded-for': '10.0.0.1',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const { status } = await fetch(`${world.indexer.httpUrl}${path}`, { headers, signal: stop.signal });
    stop.abort();
    return status;
  }

  it.each(['/status', '/events', '/update?offset=20'])(
    'gets %s only if its user may read as any party',
    async (path) => {
      expect(await statusOf(path)).toBe(401);
      expect(await statusOf(path, auditorToken)).toBe(200);
      expect(await statusOf(path, aliceToken)).toBe(403);
      const admin = await world.user(`admin${path.replaceAll(/\W+/g, '-')}`, {
        kind: { ParticipantAdmin: { value: {} } },
      });
      expect(await statusOf(path, admin)).toBe(403);
      expect(await statusOf(path, `${auditorToken.slice(0, -4)}AAAA`)).toBe(401);
    },
  );

  it('is named on the query page, and gets the views that its role may read', async () => {
    const page = await (await fetch(`${world.indexer.httpUrl}/query`)).text();
    expect(page).toContain('data-tokens="reader participant"');
    const guide = await world.ask(aliceToken, '', '/query/guide');
    expect(JSON.parse(guide.text)).toMatchObject({ caller: { kind: 'user', name: 'alice-user' } });
    const namesNow = async (): Promise<readonly string[]> => {
      const { status, text } = await world.ask(aliceToken, '', '/query/views');
      expect(status).toBe(200);
      const { rows } = JSON.parse(text) as { rows: string[][] };
      // Typed views are created meanwhile.
      return rows.filter(([schema]) => schema !== 'typed').map(([schema, name]) => `${schema ?? ''}.${name ?? ''}`);
    };
    const names = await namesNow();
    expect(names[0]).toBe('explore.active_contracts');
    for (const name of names) {
      expect((await world.ask(aliceToken, `select from ${name} limit 0`)).status, name).toBe(200);
    }
    await world.sql(`revoke select on explore.updates from "${world.role}"`);
    expect(names.filter((name) => name === 'explore.updates')).toHaveLength(1);
    expect(await namesNow()).toEqual(names.filter((name) => name !== 'explore.updates'));
  });
});
