/**
 * Tests likely mistakes in a first configuration that the value of an option reveals. Each is reported before the
 * command does anything.
 */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';

const ledger = { LEDGER_URL: 'http://localhost:7575' };
const postgres = 'postgres://me:hunter2@localhost:5432/ledger';

function refusal(env: Readonly<Record<string, string>>): IndexerError {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof IndexerError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe('a likely configuration mistake', () => {
  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['a Postgres address for the ledger', { LEDGER_URL: postgres }, /LEDGER_URL: .*belongs to DATABASE_URL/],
    [
      'an HTTP address for Postgres',
      { ...ledger, DATABASE_URL: 'http://localhost:7575' },
      /DATABASE_URL: .*belongs to LEDGER_URL/,
    ],
    ['a ledger without a scheme', { LEDGER_URL: 'localhost:7575' }, /write http:\/\/ or https:\/\/ in front/],
    ['a WebSocket address', { LEDGER_URL: 'wss://ledger.example' }, /write http:\/\/ or https:\/\/, streams/],
    ['an endpoint address', { LEDGER_URL: 'http://localhost:7575/v2/updates' }, /without \/v2/],
    ['an address that ends in /v2/', { LEDGER_URL: 'http://localhost:7575/participant/v2/' }, /without \/v2/],
    ['a password in the ledger address', { LEDGER_URL: 'http://me:hunter2@localhost:7575' }, /LEDGER_TOKEN_FILE/],
    ['quotes from an env file', { LEDGER_URL: '"http://localhost:7575"' }, /remove the quotes/],
    ['quotes around a secret', { ...ledger, DATABASE_URL: `'${postgres}'` }, /remove the quotes/],
    ['a JDBC address', { ...ledger, DATABASE_URL: 'jdbc:postgresql://localhost/ledger' }, /remove jdbc:/],
    ['libpq settings', { ...ledger, DATABASE_URL: 'host=localhost dbname=ledger password=hunter2' }, /as an address/],
    [
      'a database without a scheme',
      { ...ledger, DATABASE_URL: 'localhost:5432/ledger' },
      /write postgres:\/\/ in front/,
    ],
    ['a token with its scheme', { ...ledger, LEDGER_TOKEN: 'Bearer eyJhbGciOiJub25lIn0.hunter2.x' }, /remove "Bearer"/],
    ['a path in LEDGER_TOKEN', { ...ledger, LEDGER_TOKEN: '/run/secrets/token' }, /belongs to LEDGER_TOKEN_FILE/],
    ['a party hint', { ...ledger, LEDGER_PARTIES: 'alice' }, /ledger-indexer ledger parties/],
    ['a template without #', { ...ledger, LEDGER_TEMPLATES: 'splice-amulet:Splice.Amulet:Amulet' }, /write # in front/],
    [
      'a template without its package',
      { ...ledger, LEDGER_TEMPLATES: 'Splice.Amulet:Amulet' },
      /ledger-indexer ledger packages/,
    ],
    ['a reserved schema name', { ...ledger, POSTGRES_SCHEMA: 'pg_ledger' }, /begin with pg_/],
    ['a schema in capitals', { ...ledger, POSTGRES_SCHEMA: 'Ledger' }, /lower case/],
    ['an unknown variable', { ...ledger, LEDGER_PARTY: 'alice::1220ab' }, /did you mean LEDGER_PARTIES/],
    [
      'a missing ledger URL',
      { DATABASE_URL: postgres, LEDGER_URI: 'http://localhost:7575' },
      /did you mean LEDGER_URL/,
    ],
  ])('is reported: %s', (_, env, sentence) => {
    const { code, exitCode, message } = refusal(env);
    expect([code, exitCode]).toEqual(['CONFIGURATION_INVALID', 78]);
    expect(message).toMatch(sentence);
    expect(message).not.toContain('hunter2');
  });

  it('is not reported for correct values', () => {
    const config = loadConfig({
      LEDGER_URL: 'https://gateway.example/v2x/participant',
      DATABASE_URL: postgres,
      LEDGER_TOKEN: 'eyJhbGciOiJub25lIn0.e30.x',
      LEDGER_PARTIES: 'alice::1220ab',
      LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet',
      POSTGRES_SCHEMA: 'page_1',
    });
    expect(config.ledger.url).toBe('https://gateway.example/v2x/participant');
  });
});
