import { mkdtemp, rm, symlink, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaseOfIssued } from '../../../src/ledger/access/token-lifetime.ts';
import { assertTokenMayTravel, createTokenSource } from '../../../src/ledger/access/token.ts';
import { stopClock } from '../../support/chance/clock.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('the token source', () => {
  it('reads the file each time, also after a symlink is replaced, and keeps the token while the file is empty or missing', async () => {
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

  it('reports a file that has never contained a token', async () => {
    const tokenFile = join(folder, 'token');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toMatchObject({ code: 'LEDGER_TOKEN_UNREADABLE' });
    await writeFile(tokenFile, ' \n');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toThrow(/is empty/u);
  });

  it('returns the fixed token, and undefined when none is configured', async () => {
    expect(await createTokenSource({ token: ' abc ' }).read()).toBe('abc');
    expect(await createTokenSource({}).read()).toBeUndefined();
  });

  it.each(['Bearer abc', 'a==', 'a/b', 'a,b', '"abc"', 'ä'])(
    'rejects the token %j without printing it',
    async (token) => {
      const refusal = await createTokenSource({ token })
        .read()
        .catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: 'LEDGER_TOKEN_MALFORMED', retry: 'park' });
      expect(String(refusal)).not.toContain(token);
    },
  );
});

describe('a replacement of a token', () => {
  const settled = async (waiting: Promise<void>): Promise<boolean> => {
    const later = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20));
    return await Promise.race([waiting.then(() => true), later]);
  };

  it('in its file is detected by its content, also through a symbolic link, but not if the file is missing', async () => {
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    const never = new AbortController().signal;
    await writeFile(tokenFile, 'one');
    await source.read();
    const waiting = source.replaced(never);
    await writeFile(tokenFile, ' one\n');
    await rm(tokenFile);
    expect(await settled(waiting)).toBe(false);
    await writeFile(join(folder, 'next'), 'two');
    await symlink(join(folder, 'next'), join(folder, 'link'));
    await rename(join(folder, 'link'), tokenFile);
    await waiting;
    // The new token has not been read yet, so it still counts as a replacement.
    await source.replaced(never);
    await source.read();
    expect(await settled(source.replaced(AbortSignal.timeout(1_000)))).toBe(false);
    await writeFile(tokenFile, 'no "token"');
    await source.replaced(never);
  });

  it('never occurs for a fixed token, so the wait ends only when it is aborted', async () => {
    const stop = new AbortController();
    const waiting = createTokenSource({ token: 'abc' }).replaced(stop.signal);
    expect(await settled(waiting)).toBe(false);
    stop.abort();
    await waiting;
    await createTokenSource({ token: 'abc' }).replaced(stop.signal);
  });
});

describe('destinations of a token', () => {
  it.each([
    'https://ledger.example.org',
    'http://localhost:7575',
    'http://127.0.0.1:7575',
    'http://[::1]:7575',
    'http://ledger.localhost',
  ])('include %s', (url) => {
    expect(() => {
      assertTokenMayTravel(url, 'secret', false);
    }).not.toThrow();
  });

  it.each(['http://ledger.example.org', 'http://127.example.org', 'http://10.0.0.1', 'ws://ledger'])(
    'exclude clear text to %s unless that is allowed',
    (url) => {
      const send = (insecure: boolean): void => {
        assertTokenMayTravel(url, 'secret', insecure);
      };
      expect(() => {
        send(false);
      }).toThrow(expect.objectContaining({ code: 'LEDGER_TOKEN_INSECURE', retry: 'fatal', exitCode: 78 }));
      expect(() => {
        send(true);
      }).not.toThrow();
      expect(() => {
        assertTokenMayTravel(url, undefined, false);
      }).not.toThrow();
    },
  );
});

describe('the lifetime of a token', () => {
  const jwt = (claims: unknown): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  const now = (): number => Math.floor(Date.now() / 1000);

  it('in a file is computed from its claims, and the file is soon read again if the token was not replaced in time', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, jwt({ iat: now() - 100, exp: now() + 900 }));
    const source = createTokenSource({ tokenFile });
    const lease = await source.lease();
    expect((lease?.endsAt ?? 0) - performance.now()).toBeGreaterThan(898_000);
    expect((lease?.endsAt ?? 0) - (lease?.renewAt ?? 0)).toBeCloseTo(200_000);
    await writeFile(tokenFile, jwt({ iat: now() - 900, exp: now() + 100 }));
    const late = await source.lease();
    expect((late?.renewAt ?? 0) - performance.now()).toBeGreaterThan(500);
    expect((late?.renewAt ?? 0) - performance.now()).toBeLessThan(1_001);
  });

  it('is limited by its claims if the wall clock is wrong, and there is always a pause between renewals', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    await writeFile(tokenFile, jwt({ iat: now() + 3_600, exp: now() + 3_900 }));
    expect(((await source.lease())?.endsAt ?? 0) - performance.now()).toBeLessThan(300_001);
    await writeFile(tokenFile, jwt({ iat: now() - 3_900, exp: now() - 3_600 }));
    const expired = await source.lease();
    expect((expired?.renewAt ?? 0) - performance.now()).toBeGreaterThan(500);
  });

  it('in a file always leaves a pause between reads, even if it ends before it begins', async () => {
    stopClock();
    const tokenFile = join(folder, 'token');
    const source = createTokenSource({ tokenFile });
    for (const claims of [{ exp: now() - 10 }, { iat: now(), exp: now() }, { iat: now() + 9, exp: now() }]) {
      await writeFile(tokenFile, jwt(claims));
      expect(((await source.lease())?.renewAt ?? 0) - performance.now()).toBeGreaterThan(150);
    }
  });

  it('of an issued token is read from its claims if the provider states none, and is a number for any stated value', () => {
    const own = jwt({ iat: now(), exp: now() + 100 });
    expect(leaseOfIssued(own, 0, 0)).toMatchObject({ endsAt: 99_000 });
    expect(leaseOfIssued(own, 0, undefined)).toMatchObject({ endsAt: 99_000 });
    expect(leaseOfIssued(own, 0, 50)).toMatchObject({ endsAt: 49_000 });
    expect(leaseOfIssued('opaque', 0, 0)).toMatchObject({ renewAt: undefined, endsAt: undefined });
    const endless = jwt({ iat: -1e308, exp: 1e308 });
    for (const lease of [leaseOfIssued('opaque', 0, 1e308), leaseOfIssued(endless, 0, undefined)]) {
      expect(lease.renewAt).toBeGreaterThan(300_000_000);
    }
  });

  it('of a fixed token is reported, and no renewal is scheduled', async () => {
    const exp = now() + 300;
    const lease = await createTokenSource({ token: jwt({ iat: now(), exp }) }).lease();
    expect(lease).toMatchObject({ renewAt: undefined, expiresAt: exp });
  });

  it.each(['opaque', 'a.!!!.c', 'h.bnVsbA.s', jwt({ sub: 'indexer' }), jwt({ exp: 'soon' })])(
    'is unknown for %j',
    async (token) => {
      expect(await createTokenSource({ token }).lease()).toMatchObject({ endsAt: undefined, expiresAt: undefined });
    },
  );
});
