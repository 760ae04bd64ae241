/** Only rights of known kinds and of the documented form let a user read. */
import { expect, it } from 'vitest';
import { readNodeUser } from '../../src/ledger/api/node-rights.ts';
import type { Right, UserCalls } from '../../src/ledger/api/users.ts';

async function readRights(...rights: readonly unknown[]) {
  const users = {
    authenticated: () => Promise.resolve({ id: 'alice' }),
    rights: (userId: string) => Promise.resolve(userId === 'alice' ? (rights as readonly Right[]) : []),
  };
  const { rights: found } = await readNodeUser({ users: users as unknown as UserCalls });
  return { parties: found.parties, readsAll: found.readsAll };
}

const right = (kind: string, value: unknown) => ({ kind: { [kind]: { value } } });

it('reads parties that the user may read or act as, once and sorted', async () => {
  const rights = [
    right('CanReadAs', { party: 'b' }),
    right('CanActAs', { party: 'a' }),
    right('CanReadAs', { party: 'a' }),
  ];
  expect(await readRights(...rights)).toEqual({ parties: ['a', 'b'], readsAll: false });
});

it.each(['CanReadAsAnyParty', 'CanActAsAnyParty'])('reads all with %s', async (kind) => {
  expect(await readRights(right(kind, {}))).toEqual({ parties: [], readsAll: true });
});

it.each([
  ['a right to execute', right('CanExecuteAs', { party: 'a' })],
  ['a right to execute for all', right('CanExecuteAsAnyParty', {})],
  ['an administrator', right('ParticipantAdmin', {})],
  ['an unknown kind', right('CanReadAsEveryone', { party: 'a' })],
  ['a kind of the prototype', right('__proto__', { party: 'a' })],
  ['several kinds', { kind: { CanReadAs: { value: { party: 'a' } }, CanReadAsAnyParty: { value: {} } } }],
  ['a missing value', { kind: { CanReadAsAnyParty: {} } }],
  ['a null value', { kind: { CanReadAsAnyParty: null } }],
  ['no kind', { kind: null }],
  ['a text', 'CanReadAsAnyParty'],
  ['null', null],
  ['an empty party', right('CanReadAs', { party: '' })],
  ['a list of parties', right('CanReadAs', { party: ['a'] })],
  ['a party of another form', right('CanReadAs', { party: { value: 'a' } })],
])('reads nothing with %s', async (_, malformed) => {
  expect(await readRights(malformed)).toEqual({ parties: [], readsAll: false });
});
