import { describe, expect, it } from 'vitest';
import { tokenFlaws } from '../../../src/ledger/access/token-claims.ts';

const now = 1_800_000_000;
const validClaims = { sub: 'indexer', aud: 'https://daml.com/jwt/aud/participant/p', iat: now - 10, exp: now + 290 };
const flawsOf = (claims: object): string =>
  tokenFlaws(`h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`, now).join(', and ');

describe('tokenFlaws()', () => {
  it.each([
    ['nothing for a valid token', validClaims, /^$/u],
    [
      'a lifetime that is too long',
      { ...validClaims, exp: now + 3_590 },
      /^lives for 60 minutes; participants accept five minutes/u,
    ],
    [
      'a lifetime that is too long in a token without iat',
      { ...validClaims, iat: undefined, exp: now + 900 },
      /^lives for 15 minutes;/u,
    ],
    ['an expired token', { ...validClaims, exp: now - 600 }, /^expired 10 minutes ago by the clock of this machine$/u],
    [
      'a token that is not valid yet',
      { ...validClaims, nbf: now + 90 },
      /^is not valid for another 90 seconds: the clocks/u,
    ],
    [
      'a token that was issued in the future',
      { ...validClaims, iat: now + 600, exp: now + 900 },
      /^is not valid for another 10 minutes/u,
    ],
    [
      'a token that never expires',
      { ...validClaims, exp: undefined },
      /^has no end \(exp\); participants accept five minutes/u,
    ],
    ['a token without an audience', { ...validClaims, aud: undefined }, /^names no audience \(aud\)/u],
    [
      'several flaws of one token',
      { exp: now - 5, nbf: now + 60 },
      /^is not valid .*, and expired 5 seconds ago.*, and names no audience/u,
    ],
  ])('reports %s', (_what, claims, found) => {
    expect(flawsOf(claims)).toMatch(found);
    expect(flawsOf(claims)).not.toContain('indexer');
    expect(flawsOf(claims)).not.toContain('https');
  });

  it.each(['ory_at_opaque', 'a.!!!.c', 'h.bnVsbA.s'])('reports that the token is not a JWT: %s', (token) => {
    expect(tokenFlaws(token, now)).toEqual([expect.stringMatching(/^is not a JWT, which participants require/u)]);
  });

  it('reports that the token is encrypted if it has the five parts of JWE', () => {
    expect(tokenFlaws('eyJlbmMiOiJBMjU2R0NNIn0..aXY.Y2lwaGVy.dGFn', now)).toEqual([
      expect.stringMatching(/^is an encrypted JWT/u),
    ]);
  });

  it.each([{ exp: 1e308, iat: -1e308 }, { exp: -1e308 }, { nbf: 1e308 }])(
    'returns a sentence for extreme numbers in the claims: %j',
    (claims) => {
      expect(flawsOf({ ...validClaims, ...claims })).toMatch(/^[a-z]/u);
    },
  );
});
