/**
 * Commands in messages to users must run this program. They must not run a package with the same name from a registry.
 */
import { describe, expect, it } from 'vitest';
import { formatBanner, ownCommand } from '../../src/cli/demo/banner.ts';

describe('ownCommand()', () => {
  it.each([
    ['a clone', '/home/me/clone/dist/main.js', '/home/me/clone', 'node dist/main.js'],
    ['a folder with a blank', '/home/me/my clone/dist/main.js', '/home/me', "node 'my clone/dist/main.js'"],
    ['another folder', '/opt/indexer/dist/main.js', '/home/me', 'node /opt/indexer/dist/main.js'],
    ['a global installation', '/usr/local/bin/ledger-indexer', '/home/me', 'ledger-indexer'],
    ['node_modules', '/app/node_modules/.bin/ledger-indexer', '/app', 'node node_modules/.bin/ledger-indexer'],
  ])('returns the command of the program in %s', (_, program, folder, expected) => {
    expect(ownCommand(program, folder)).toBe(expected);
  });
});

describe('startup banner', () => {
  it.each([true, false])('contains the query page URL, in lines of at most 100 characters (demo: %s)', (isDemo) => {
    const connectionUrls = { ledgerUrl: 'http://127.0.0.1:1', databaseUrl: 'postgres://127.0.0.1:2/ledger' };
    const text = formatBanner(
      { ...connectionUrls, embeddedLedger: isDemo, embeddedDatabase: isDemo },
      'http://127.0.0.1:7580',
      'ledger',
    );
    expect(text).toContain('http://127.0.0.1:7580/query');
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
