/** Faults of tokens and rights, with the complete indexer and Postgres. */
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTokenSource } from '../../src/ledger/access/token.ts';
import { audience, clientId, clientSecret, startOidc, type Oidc } from '../support/oidc.ts';
import { expiresIn, sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { FaultWorld, failedWith } from './fault-world.ts';

const secret = 'a shared secret for tests of faults';
const signer = sharedSecret(secret);
const rights = [{ kind: 'CanReadAsAnyParty' as const }];
const path = '/v2/updates';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-faults-'));
});
afterEach(() => rm(folder, { recursive: true }));

const file = (name: string): string => join(folder, name);

describe('a token file', () => {
  it('may be empty, missing, invalid or replaced while the last token is valid', async () => {
    await using world = await FaultWorld.open({ auth: { secret, users: [{ id: 'reader', rights }] } });
    let tokens = 0;
    const validToken = () => token(signer, { sub: 'reader', jti: String((tokens += 1)) });
    await writeFile(file('token'), await validToken());
    await using indexer = await world.run('ledger', { LEDGER_TOKEN_FILE: file('token') });
    const reconnects = async (state: string): Promise<void> => {
      world.sandbox.faults.cut = { path, times: 1 };
      world.grow(5);
      await waitFor(`a cut while ${state}`, () => (world.sandbox.faults.cut === undefined ? true : undefined));
      await world.reachesEnd(indexer);
    };
    await world.reachesEnd(indexer);
    await writeFile(file('token'), '');
    await reconnects('it is empty');
    await writeFile(file('token'), '"Bearer of nothing"');
    await reconnects('it is not a token');
    await rm(file('token'));
    await reconnects('it is missing');
    await writeFile(file('next'), await validToken());
    await symlink(file('next'), file('link'));
    await rename(file('link'), file('token'));
    await reconnects('it is another file');
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
    expect(indexer.log.filter((line) => /TOKEN_(MALFORMED|UNREADABLE)/u.test(line))).toEqual([]);
    await world.expectUndisturbed('ledger', { LEDGER_TOKEN_FILE: file('token') });
  });

  it('causes LEDGER_TOKEN_MALFORMED after the last token has expired or was rejected', async () => {
    for (const end of ['ended', 'refused']) {
      const tokenFile = file(end);
      const source = createTokenSource({ tokenFile });
      await writeFile(
        tokenFile,
        await token(signer, { iat: expiresIn(-60_000), exp: expiresIn(end === 'ended' ? 30 : 60_000) }),
      );
      await source.read();
      await writeFile(tokenFile, 'no token');
      if (end === 'refused') source.invalidate();
      await waitFor(end, async () => {
        const code = await source.lease().then(
          () => undefined,
          (error: unknown) => (error as { readonly code: string }).code,
        );
        return code === 'LEDGER_TOKEN_MALFORMED' ? true : undefined;
      });
    }
  });
});

describe('rejected ledger-end requests', () => {
  let oidc: Oidc;
  beforeEach(async () => {
    oidc = await startOidc({ tokenSeconds: 120 });
  });
  afterEach(() => oidc.stop());

  it('cause at most one token request', async () => {
    const auth = { jwksUrl: oidc.jwksUrl, audience, users: [{ id: clientId, rights }] };
    await using world = await FaultWorld.open({ auth });
    await using indexer = await world.run('ledger', {
      LEDGER_OAUTH_ISSUER: oidc.issuer,
      LEDGER_OAUTH_CLIENT_ID: clientId,
      LEDGER_OAUTH_CLIENT_SECRET: clientSecret,
    });
    await world.reachesEnd(indexer);
    const tokensBefore = oidc.tokenRequests.length;
    let refusals = 0;
    world.sandbox.faults.answer = { path: '/v2/state/ledger-end', as: 'UNAUTHENTICATED' };
    await waitFor(
      'three polls',
      () =>
        (refusals = indexer.log.filter((line) => line.includes('LEDGER_UNAUTHENTICATED')).length) >= 3
          ? true
          : undefined,
      30_000,
    );
    expect(oidc.tokenRequests.length - tokensBefore).toBeLessThanOrEqual(1);
    expect(refusals).toBeGreaterThanOrEqual(3);
    world.sandbox.faults.answer = undefined;
  });
});

describe('rejected handshakes of the seed', () => {
  it('are no longer counted after the seed is published', async () => {
    await using world = await FaultWorld.open({ release: '3.4' });
    const { faults } = world.sandbox;
    faults.refuseUpgrade = { path: '/v2/state/active-contracts', times: 2, as: 'UNAUTHENTICATED' };
    await using indexer = await world.run('ledger', { INDEXER_START: 'seed' });
    await world.reachesEnd(indexer);
    expect(faults.refuseUpgrade).toBeUndefined();
    faults.refuseUpgrade = { path, times: 1, as: 'UNAUTHENTICATED' };
    faults.cut = { path, times: 1 };
    world.grow(5);
    await world.reachesEnd(indexer);
    expect(faults.refuseUpgrade).toBeUndefined();
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
  });
});

describe('a token that cannot be sent in a handshake', () => {
  it('parks the indexer, and is not logged', async () => {
    await using world = await FaultWorld.open();
    const paddedToken = 'a-token-with-padding==';
    await using indexer = await world.run('ledger', { LEDGER_TOKEN: paddedToken });
    await failedWith(indexer, 'LEDGER_TOKEN_MALFORMED');
    expect(indexer.log.join('\n')).not.toContain(paddedToken);
  });
});
