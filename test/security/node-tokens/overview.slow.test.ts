/** Endpoints about all parties, for users of the participant. */
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
});
