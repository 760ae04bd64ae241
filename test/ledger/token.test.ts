import { mkdtemp, rm, symlink, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assertTokenMayTravel, createTokenSource, tokenExpiry } from '../../src/ledger/token.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('the token source', () => {
  it('reads the file again each time, also after a symlink swap, and keeps the last token while it is empty or gone', async () => {
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

  it('says so when the file has never had a token', async () => {
    const tokenFile = join(folder, 'token');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toMatchObject({ code: 'LEDGER_TOKEN_UNREADABLE' });
    await writeFile(tokenFile, ' \n');
    await expect(createTokenSource({ tokenFile }).read()).rejects.toThrow(/is empty/u);
  });

  it('returns the fixed token, and nothing when none is configured', async () => {
    expect(await createTokenSource({ token: ' abc ' }).read()).toBe('abc');
    expect(await createTokenSource({}).read()).toBeUndefined();
  });

  it.each(['Bearer abc', 'a==', 'a/b', 'a,b', '"abc"', 'ä'])(
    'refuses the token %j without showing it',
    async (token) => {
      const refusal = await createTokenSource({ token })
        .read()
        .catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: 'LEDGER_TOKEN_MALFORMED', retry: 'park' });
      expect(String(refusal)).not.toContain(token);
    },
  );
});

describe('where a token may travel', () => {
  it.each([
    'https://ledger.example.org',
    'http://localhost:7575',
    'http://127.0.0.1:7575',
    'http://[::1]:7575',
    'http://ledger.localhost',
  ])('lets it go to %s', (url) => {
    expect(() => {
      assertTokenMayTravel(url, 'secret', false);
    }).not.toThrow();
  });

  it.each(['http://ledger.example.org', 'http://127.example.org', 'http://10.0.0.1', 'ws://ledger'])(
    'refuses clear text to %s unless that is allowed',
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

describe('the expiry of a token', () => {
  it('is the exp claim, or unknown', () => {
    const jwt = (claims: unknown): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
    expect(tokenExpiry(jwt({ exp: 1_800_000_000 }))).toBe(1_800_000_000);
    expect(tokenExpiry(jwt({ sub: 'indexer' }))).toBeUndefined();
    expect(tokenExpiry(jwt({ exp: 'soon' }))).toBeUndefined();
    expect(tokenExpiry('opaque')).toBeUndefined();
    expect(tokenExpiry('a.!!!.c')).toBeUndefined();
  });
});
