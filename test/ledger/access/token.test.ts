import { mkdtemp, rm, symlink, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaseOfIssuedToken } from '../../../src/ledger/access/token-lifetime.ts';
import { assertTokenConfidential, createTokenSource } from '../../../src/ledger/access/token.ts';
import { stopClock } from '../../support/chance/clock.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('token source', () => {
  it('reads the token file on every call, and keeps the token while the file is empty or missing', async () => {
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ token: 'ignored', tokenFile });
    await writeFile(tokenFile, 'one\n');
    expect(await source.read()).toBe('one');
    await writeFile(tokenFile, '');
    expect(await source.read()).toBe('one');
    await rm(tokenFile);
    expect(await source.read()).toBe('one');
    await writeFile(join(folder, 'next'), 'two');
    await symlink(join(folder, 'next'), join(folder, 'link'));
    await rename(join(folder, 'link'), tokenFile);
    expect(await source.read()).toBe('two');
  });

  it('rejects a token file that is missing or empty at the first read', async () => {
    const tokenFile = join(folder, 'token');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toMatchObject({ code: 'LEDGER_TOKEN_UNREADABLE' });
    await writeFile(tokenFile, ' \n');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toThrow(/is empty/u);
  });

  it('returns the configured token, or undefined if none is configured', async () => {
    expect(await createTokenSource({ token: ' abc ' }).read()).toBe('abc');
    expect(await createTokenSource({}).read()).toBeUndefined();
  });

  it.each(['Bearer abc', 'a==', 'a/b', 'a,b', '"abc"', 'ä'])(
    'rejects the token %j without printing it',
    async (token) => {
      const refusal = await createTokenSource({ token })
        .read()
        .catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'LEDGER_TOKEN_MALFORMED', retry: 'park' });
      expect(String(refusal)).not.toContain(token);
    },
  );
});

describe('tokenSource.replaced()', () => {
  const isSettled = async (whenReplaced: Promise<void>): Promise<boolean> => {
    const laterResult = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20));
    return await Promise.race([whenReplaced.then(() => true), laterResult]);
  };

  it('resolves when the content of the token file changes, but not when the file is missing', async () => {
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    const neverAborted = new AbortController().signal;
    await writeFile(tokenFile, 'one');
    await source.read();
    const whenReplaced = source.replaced(neverAborted);
    await writeFile(tokenFile, ' one\n');
    await rm(tokenFile);
    expect(await isSettled(whenReplaced)).toBe(false);
    await writeFile(join(folder, 'next'), 'two');
    await symlink(join(folder, 'next'), join(folder, 'link'));
    await rename(join(folder, 'link'), tokenFile);
    await whenReplaced;
    // The new token has not been read yet, so it still counts as a replacement.
    await source.replaced(neverAborted);
    await source.read();
    expect(await isSettled(source.replaced(AbortSignal.timeout(1_000)))).toBe(false);
    await writeFile(tokenFile, 'no "token"');
    await source.replaced(neverAborted);
  });

  it('resolves only when it is aborted if the token is fixed', async () => {
    const stop = new AbortController();
    const whenReplaced = createTokenSource({ token: 'abc' }).replaced(stop.signal);
    expect(await isSettled(whenReplaced)).toBe(false);
    stop.abort();
    await whenReplaced;
    await createTokenSource({ token: 'abc' }).replaced(stop.signal);
  });
});

describe('assertTokenConfidential()', () => {
  it.each([
    'https://ledger.example.org',
    'http://localhost:7575',
    'http://127.0.0.1:7575',
    'http://[::1]:7575',
    'http://ledger.localhost',
  ])('accepts %s', (url) => {
    expect(() => {
      assertTokenConfidential(url, 'secret', false);
    }).not.toThrow();
  });

  it.each(['http://ledger.example.org', 'http://127.example.org', 'http://10.0.0.1', 'ws://ledger'])(
    'rejects %s unless clear text is allowed or there is no token',
    (url) => {
      const send = (insecure: boolean): void => {
        assertTokenConfidential(url, 'secret', insecure);
      };
      expect(() => {
        send(false);
      }).toThrow(expect.objectContaining({ code: 'LEDGER_TOKEN_INSECURE', retry: 'fatal', exitCode: 78 }));
      expect(() => {
        send(true);
      }).not.toThrow();
      expect(() => {
        assertTokenConfidential(url, undefined, false);
      }).not.toThrow();
    },
  );
});

describe('token lease', () => {
  const jwt = (claims: unknown): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  const now = (): number => Math.floor(Date.now() / 1000);

  it('ends with the claims of the file token, and renews within a second when overdue', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, jwt({ iat: now() - 100, exp: now() + 900 }));
    const source = createTokenSource({ tokenFile });
    const lease = await source.lease();
    expect((lease?.endsAt ?? 0) - performance.now()).toBeGreaterThan(898_000);
    expect((lease?.endsAt ?? 0) - (lease?.renewAt ?? 0)).toBeCloseTo(200_000);
    await writeFile(tokenFile, jwt({ iat: now() - 900, exp: now() + 100 }));
    const lateLease = await source.lease();
    expect((lateLease?.renewAt ?? 0) - performance.now()).toBeGreaterThan(500);
    expect((lateLease?.renewAt ?? 0) - performance.now()).toBeLessThan(1_001);
  });

  it('is limited by its claims if the wall clock is wrong, and has a pause before renewal', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    await writeFile(tokenFile, jwt({ iat: now() + 3_600, exp: now() + 3_900 }));
    expect(((await source.lease())?.endsAt ?? 0) - performance.now()).toBeLessThan(300_001);
    await writeFile(tokenFile, jwt({ iat: now() - 3_900, exp: now() - 3_600 }));
    const expiredLease = await source.lease();
    expect((expiredLease?.renewAt ?? 0) - performance.now()).toBeGreaterThan(500);
  });

  it('has a pause before renewal even if the token has already expired', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    for (const claims of [{ exp: now() - 10 }, { iat: now(), exp: now() }, { iat: now() + 9, exp: now() }]) {
      await writeFile(tokenFile, jwt(claims));
      expect(((await source.lease())?.renewAt ?? 0) - performance.now()).toBeGreaterThan(150);
    }
  });

  it('uses expires_in of an issued token, or its claims if expires_in is missing or 0', () => {
    const ownToken = jwt({ iat: now(), exp: now() + 100 });
    expect(leaseOfIssuedToken(ownToken, 0, 0)).toMatchObject({ endsAt: 99_000 });
    expect(leaseOfIssuedToken(ownToken, 0, undefined)).toMatchObject({ endsAt: 99_000 });
    expect(leaseOfIssuedToken(ownToken, 0, 50)).toMatchObject({ endsAt: 49_000 });
    expect(leaseOfIssuedToken('opaque', 0, 0)).toMatchObject({ renewAt: undefined, endsAt: undefined });
    const endlessToken = jwt({ iat: -1e308, exp: 1e308 });
    for (const lease of [leaseOfIssuedToken('opaque', 0, 1e308), leaseOfIssuedToken(endlessToken, 0, undefined)]) {
      expect(lease.renewAt).toBeGreaterThan(300_000_000);
    }
  });

  it('reports the expiry of a fixed token, and schedules no renewal', async () => {
    const exp = now() + 300;
    const lease = await createTokenSource({ token: jwt({ iat: now(), exp }) }).lease();
    expect(lease).toMatchObject({ renewAt: undefined, expiresAt: exp });
  });

  it.each(['opaque', 'a.!!!.c', 'h.bnVsbA.s', jwt({ sub: 'indexer' }), jwt({ exp: 'soon' })])(
    'has no expiry for the token %j',
    async (token) => {
      expect(await createTokenSource({ token }).lease()).toMatchObject({ endsAt: undefined, expiresAt: undefined });
    },
  );
});
