/** Verbs about parties and about the rights of users. */
import type { PartyDetails } from '../../ledger/api/parties.ts';
import type { Right } from '../../ledger/api/users.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import { isObject } from '../../ledger/frames/field.ts';
import { singleBatch, shortId, type RowFormat } from '../command-line/output.ts';
import type { Verb, VerbCall } from './verb.ts';

const partyFormat: RowFormat<PartyDetails> = {
  columns: [{ title: 'PARTY' }, { title: 'LOCAL' }, { title: 'ANNOTATIONS' }],
  lines: ({ party, isLocal, localMetadata }) => {
    const annotations = Object.entries(localMetadata?.annotations ?? {});
    return [
      [shortId(party), isLocal === true ? 'yes' : 'no', annotations.map(([name, text]) => `${name}=${text}`).join(' ')],
    ];
  },
  json: (party) => JSON.stringify(party),
};

async function* partyPages(client: LedgerClient): AsyncGenerator<readonly PartyDetails[]> {
  let pageToken: string | undefined;
  do {
    const page = await client.parties.list(pageToken === undefined ? {} : { pageToken });
    yield page.partyDetails;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

/** A right is `{"kind":{"CanActAs":{"value":{"party":…}}}}`. Kinds of later releases are printed by name. */
const rightFormat: RowFormat<Right> = {
  columns: [{ title: 'RIGHT' }, { title: 'PARTY' }],
  lines: ({ kind }) =>
    Object.entries(kind ?? {}).map(([name, body]: [string, unknown]) => {
      const value = isObject(body) ? body['value'] : undefined;
      const party = isObject(value) ? value['party'] : undefined;
      return [name, typeof party === 'string' ? shortId(party) : ''];
    }),
  json: (right) => JSON.stringify(right),
};

async function rights({ args, client, output }: VerbCall): Promise<void> {
  const userId = args.operands[0] ?? (await client.users.authenticated()).id;
  await output.rows(singleBatch(client.users.rights(userId)), rightFormat);
}

const adminRemedy = 'use a token of a user with the right ParticipantAdmin';

export const partyVerbs: readonly Verb[] = [
  {
    name: 'parties',
    summary: 'list parties that the participant knows',
    operands: [],
    flags: [],
    example: 'ledger parties --json | grep alice',
    remedies: { LEDGER_PERMISSION_DENIED: adminRemedy },
    run: async ({ client, output }) => output.rows(partyPages(client), partyFormat),
  },
  {
    name: 'rights',
    summary: 'print the rights of a user; default: the user of the token',
    operands: ['[USER]'],
    flags: [],
    example: 'ledger rights indexer',
    remedies: {
      LEDGER_PERMISSION_DENIED: `${adminRemedy}, or request the rights of the user of the token`,
      LEDGER_REQUEST_INVALID: 'pass an existing user; without a token there is no default',
    },
    run: rights,
  },
];
