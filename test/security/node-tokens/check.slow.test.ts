/** `check` names what is missing for tokens of the participant. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programInProcess } from '../../cli/in-process.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { NodeWorld } from './world.ts';

interface Line {
  readonly name: string;
  readonly state: string;
  readonly found: string;
}

describe('check', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  beforeAll(async () => {
    world = await NodeWorld.open();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function check(changes: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, Line>>> {
    const env = { ...world.env, ...changes };
    const { stdout } = await programInProcess(['check', '--json'], env);
    expect(stdout).not.toContain(env['INDEXER_NODE_TOKENS_PASSWORD']);
    const { checks } = JSON.parse(stdout) as { checks: readonly Line[] };
    return Object.fromEntries(checks.map((line) => [line.name, line]));
  }

  it('passes for a complete set-up, and has no such lines if the tokens are off', async () => {
    const lines = await check();
    for (const name of ['node token keys', 'node token claims', 'node token role']) {
      expect(lines[name], name).toMatchObject({ state: 'pass' });
    }
    expect(
      Object.keys(await check({ INDEXER_NODE_TOKENS: 'false' })).filter((name) => name.startsWith('node')),
    ).toEqual([]);
  });

  it.each([
    ['INDEXER_NODE_TOKENS_ROLE', 'missing_role', 'node token role', 'fail', 'does not exist'],
    ['INDEXER_NODE_TOKENS_PASSWORD', 'wrong-one', 'node token role', 'fail', 'password'],
    ['INDEXER_NODE_TOKENS_AUDIENCE', 'another', 'node token claims', 'warn', 'audience'],
    ['INDEXER_NODE_TOKENS_ISSUER', 'https://other.example', 'node token claims', 'warn', 'issuer'],
    ['INDEXER_NODE_TOKENS_JWKS_URL', 'http://127.0.0.1:1/keys', 'node token keys', 'fail', 'cannot be read'],
  ])('reports a wrong %s', async (option, value, name, state, found) => {
    expect((await check({ [option]: value }))[name]).toMatchObject({
      state,
      found: expect.stringContaining(found) as string,
    });
  });

  it('reports a role that reads everything, and statements that other users could see', async () => {
    await world.sql(`alter role "${world.role}" set track_activities = on`);
    expect((await check())['node token role']).toMatchObject({ state: 'warn' });
    await world.sql(`drop policy "${world.role}" on ledger.exercises`);
    expect((await check())['node token role']).toMatchObject({
      state: 'fail',
      found: expect.stringContaining('not limited in table') as string,
    });
    await world.grant();
    expect((await check())['node token role']).toMatchObject({ state: 'pass' });
  });
});
