/** An indexer with the least rights serves users of the participant, and the rights of its role stay as small. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../support/database.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { waitFor } from '../../support/wait-for.ts';
import { canReadAs, NodeWorld } from './world.ts';

describe('the writer of grant-roles', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  beforeAll(async () => {
    world = await NodeWorld.open(true);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('reads for users of the participant', async () => {
    const [party = ''] = await world.parties(1);
    const token = await world.user('alice-user', canReadAs(party));
    const visible = await world.visible(party);
    const eventIds = `select "offset" || '-' || node_id from explore.events order by "offset", node_id`;
    expect((await world.rows(token, eventIds)).flat()).toEqual(visible);
    const stream = world.listen(token);
    await waitFor('all changes', () => (stream.ids.length >= visible.length ? true : undefined));
    expect(stream.ids).toEqual(visible);
    expect((await world.ask(token, visible[0]?.split('-')[0] ?? '', '/query/explain', 'id')).status).toBe(200);
  });

  it('may add and remove rights but not change them, and the role may do neither', async () => {
    const url = world.env['DATABASE_URL'] ?? '';
    const rights = await query(
      url,
      `select has_table_privilege('${world.role}', 'ledger.node_sessions', 'insert, update, delete') as writes,
              has_table_privilege('ledger.node_sessions', 'update') as updates`,
    );
    expect(rights).toEqual([{ writes: false, updates: false }]);
  });
});
