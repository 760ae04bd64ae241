/** The token: where it comes from, what it says of itself, whether it is still good. It is never printed. */
import type { LedgerConfig } from '../../config/config.ts';
import { tokenClaims, type TokenClaims } from '../../ledger/access/token-claims.ts';
import { span } from '../../ledger/access/token-flaws.ts';
import type { LedgerView } from './ledger-view.ts';
import { fail, pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** Asks the source for a token, as the indexer does. */
export function tokenCheck({ access, config }: LedgerView): Check {
  return {
    name: 'token',
    run: async () => {
      const token = await access.tokenSource.read();
      if (token === undefined) return skip('none is configured: only a ledger without authorization accepts that');
      return judged(tokenClaims(token), sourceOf(config.ledger), Date.now() / 1000);
    },
  };
}

function sourceOf({ oauth, tokenFile }: LedgerConfig): string {
  if (oauth !== undefined) return oauth.issuer ?? oauth.tokenUrl ?? 'the token provider';
  return tokenFile === undefined ? 'LEDGER_TOKEN' : 'LEDGER_TOKEN_FILE';
}

function judged(claims: TokenClaims | undefined, source: string, now: number): Finding {
  if (claims === undefined) return pass(`from ${source}; not a JWT, so it says nothing of itself`);
  const { subject, issuer, audience, scope, notBefore, issuedAt, expiresAt } = claims;
  const said = [
    `from ${source}`,
    `user ${subject ?? 'not named'}`,
    `audience ${audience.length === 0 ? 'none' : audience.join(' ')}`,
    ...(scope === undefined ? [] : [`scope ${scope}`]),
    ...(issuer === undefined ? [] : [`issuer ${issuer}`]),
  ].join(', ');
  if (expiresAt !== undefined && expiresAt <= now) {
    return fail(`${said}; expired ${time(expiresAt)}, ${span(now - expiresAt)} ago`, renewal(source));
  }
  const early = Math.max(notBefore ?? 0, issuedAt ?? 0);
  // What issuers and participants commonly allow for clocks that differ.
  if (early > now + 60)
    return fail(`${said}; not good before ${time(early)}`, 'set the clocks of this machine and the issuer by NTP');
  if (subject === undefined) return fail(said, 'use a token whose "sub" names a user of the participant');
  const found = `${said}; ${expiresAt === undefined ? 'never expires' : `expires in ${span(expiresAt - now)}`}`;
  if (audience.length > 0) return pass(found);
  return warn(
    `${found}; participants from 3.7 on refuse a token without an audience`,
    'let the provider put https://daml.com/jwt/aud/participant/PARTICIPANT_ID, or the target-audience of the participant, ' +
      'into "aud": with LEDGER_OAUTH_*, ask for it by LEDGER_OAUTH_AUDIENCE',
  );
}

function renewal(source: string): string {
  if (source === 'LEDGER_TOKEN')
    return 'give a fresh token; for short-lived ones use LEDGER_TOKEN_FILE or LEDGER_OAUTH_*';
  return source === 'LEDGER_TOKEN_FILE'
    ? 'see why the file is not renewed before its token ends'
    : 'compare the clock of the provider';
}

/** A year nobody means would be no date at all. */
function time(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? 'at no time that exists' : date.toISOString();
}
