/**
 * Commands in messages to users must run this program. They must not run a package with the same name from a registry.
 */
import { describe, expect, it } from 'vitest';
import { formatBanner, ownCommand } from '../../src/cli/demo/banner.ts';

describe('the command in messages', () => {
  it.each([
    ['a clone', '/home/me/clone/dist/main.js', '/home/me/clone', 'node dist/main.js'],
    ['a folder with a blank', '/home/me/my clone/dist/main.js', '/home/me', "node 'my clone/dist/main.js'"],
    ['elsewhere', '/opt/indexer/dist/main.js', '/home/me', 'node /opt/indexer/dist/main.js'],
    ['an installation', '/usr/local/bin/ledger-indexer', '/home/me', 'ledger-indexer'],
    ['a dependency', '/app/node_modules/.bin/ledger-indexer', '/app', 'node node_modules/.bin/ledger-indexer'],
  ])('names the program in %s', (_, program, folder, expected) => {
    expect(ownCommand(program, folder)).toBe(expected);
  });
});

describe('the banner', () => {
  it.each([true, false])('links to the query page, and has lines of at most 100 characters; demo: %s', (isDemo) => {
    const sides = { ledgerUrl: 'http://127.0.0.1:1', databaseUrl: 'postgres://127.0.0.1:2/ledger' };
    const text = formatBanner(
      { ...sides, embeddedLedger: isDemo, embeddedDatabase: isDemo },
      'http://127.0.0.1:7580',
      'ledger',
    );
    expect(text).toContain('http://127.0.0.1:7580/query');
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
