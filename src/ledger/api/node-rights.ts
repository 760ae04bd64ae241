/** Rights of the user of a token to read data of parties, as the participant returns them for that token. */
import { nodeRights, type NodeRights } from '../../model/push/node-rights.ts';
import { isObject } from '../frames/field.ts';
import type { LedgerClient } from './client.ts';

export interface NodeUser {
  readonly id: string;
  readonly rights: NodeRights;
}

/** Rights for one party, and rights for all parties. A user that may act as a party may also read as it. */
const ofParty = new Set(['CanReadAs', 'CanActAs']);
const ofAnyParty = new Set(['CanReadAsAnyParty', 'CanActAsAnyParty']);

/**
 * Requests the user of the token and its rights.
 * @throws IndexerError with a LEDGER_ code, also if an answer has another form
 */
export async function readNodeUser({ users }: Pick<LedgerClient, 'users'>): Promise<NodeUser> {
  const { id } = await users.authenticated();
  const parties: string[] = [];
  let readsAll = false;
  for (const right of await users.rights(id)) {
    const [kind, value] = singleKind(right);
    if (ofAnyParty.has(kind)) readsAll = true;
    const party = ofParty.has(kind) ? value['party'] : undefined;
    if (typeof party === 'string' && party !== '') parties.push(party);
  }
  return { id, rights: nodeRights(parties, readsAll) };
}

/** The kind of a right and its value. A right with another form, or with several kinds, grants nothing. */
function singleKind(right: unknown): readonly [string, Readonly<Record<string, unknown>>] {
  const kinds = isObject(right) && isObject(right['kind']) ? Object.entries(right['kind']) : [];
  const [[kind, content] = ['', undefined], ...more] = kinds;
  const value = isObject(content) ? content['value'] : undefined;
  return more.length === 0 && isObject(value) ? [kind, value] : ['', {}];
}
