/** Users, their rights, and the identity of the caller. */
import { expect } from 'vitest';
import type { Right } from '../../../src/ledger/api/users.ts';
import type { Case, Session } from './row.ts';
import type { World } from '../world.ts';

const readRights: readonly Right[] = [{ kind: { CanReadAsAnyParty: { value: {} } } }];
const unknown: readonly Right[] = [{}];

/** Creates a user without rights. */
async function user({ session, unique }: World): Promise<string> {
  return (await session('admin').client.users.create({ id: unique('user') })).id;
}

const withUser =
  (changeUser: (client: Session['client'], id: string) => Promise<unknown>): Case['call'] =>
  async ({ client }, world) =>
    changeUser(client, await user(world));

export const userCases: readonly Case[] = [
  {
    operation: 'GET /v2/users',
    as: 'admin',
    readOnly: true,
    call: ({ client }) => client.users.list({ pageSize: 5 }),
    check: (result) => expect(JSON.stringify(result)).toContain('"id":"'),
    badQuery: ['pageSize'],
    refused: { INVALID_ARGUMENT: ({ client }) => client.users.list({ pageSize: -1 }) },
  },
  {
    operation: 'POST /v2/users',
    as: 'admin',
    call: ({ client }, { unique }) => client.users.create({ id: unique('user') }, readRights),
    check: (result) => expect(result).toMatchObject({ isDeactivated: false }),
    body: 'json',
    refused: {
      USER_ALREADY_EXISTS: ({ client }) => client.users.create({ id: 'reader' }),
      INVALID_FIELD: ({ client }) => client.users.create({ id: 'not a user id!' }),
      MISSING_FIELD: ({ client }) => client.users.create({ id: '' }),
      INVALID_ARGUMENT: ({ client }, { unique }) => client.users.create({ id: unique('user') }, unknown),
    },
  },
  {
    operation: 'GET /v2/users/{user-id}',
    as: 'admin',
    call: ({ client }) => client.users.get('reader'),
    check: (result) => expect(result).toMatchObject({ id: 'reader' }),
    refused: { USER_NOT_FOUND: ({ client }) => client.users.get('none') },
  },
  {
    operation: 'DELETE /v2/users/{user-id}',
    as: 'admin',
    call: withUser((client, id) => client.users.delete(id)),
    refused: { USER_NOT_FOUND: ({ client }) => client.users.delete('none') },
  },
  {
    operation: 'GET /v2/users/{user-id}/rights',
    as: 'admin',
    call: ({ client }) => client.users.rights('reader'),
    check: (result) => expect(result).toEqual(readRights),
    refused: { USER_NOT_FOUND: ({ client }) => client.users.rights('none') },
  },
  {
    operation: 'POST /v2/users/{user-id}/rights',
    as: 'admin',
    call: withUser((client, id) => client.users.grant(id, readRights)),
    check: (result) => expect(result).toEqual(readRights),
    body: 'json',
    refused: {
      USER_NOT_FOUND: ({ client }) => client.users.grant('none', readRights),
      INVALID_ARGUMENT: withUser((client, id) => client.users.grant(id, unknown)),
    },
  },
  {
    operation: 'PATCH /v2/users/{user-id}/rights',
    as: 'admin',
    call: withUser(async (client, id) => {
      await client.users.grant(id, readRights);
      return await client.users.revoke(id, readRights);
    }),
    check: (result) => expect(result).toEqual(readRights),
    body: 'json',
    refused: { USER_NOT_FOUND: ({ client }) => client.users.revoke('none', readRights) },
  },
  {
    operation: 'GET /v2/authenticated-user',
    needs: 'token',
    call: ({ client }) => client.users.authenticated(),
    check: (result) => expect(result).toMatchObject({ id: 'reader' }),
  },
];
