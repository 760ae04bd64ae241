/** What a person is told to type: it must run this very program, and nothing that a registry has under its name. */
import { describe, expect, it } from 'vitest';
import { ownCommand } from '../../src/cli/demo/greeting.ts';

describe('the command of this program', () => {
  it.each([
    ['a clone', '/home/me/clone/dist/main.js', '/home/me/clone', 'node dist/main.js'],
    ['a folder with a blank', '/home/me/my clone/dist/main.js', '/home/me', "node 'my clone/dist/main.js'"],
    ['elsewhere', '/opt/indexer/dist/main.js', '/home/me', 'node /opt/indexer/dist/main.js'],
    ['an installation', '/usr/local/bin/ledger-indexer', '/home/me', 'ledger-indexer'],
    ['a dependency', '/app/node_modules/.bin/ledger-indexer', '/app', 'node node_modules/.bin/ledger-indexer'],
  ])('of %s', (_, program, folder, expected) => {
    expect(ownCommand(program, folder)).toBe(expected);
  });
});
