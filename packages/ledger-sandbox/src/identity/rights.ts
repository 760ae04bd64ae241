/**
 * The rights of a user, in memory and in wire form (`{"kind":{"CanReadAs":{"value":{"party":"…"}}}}`), and the rights
 * that each implies. Administering implies neither reading nor acting.
 */
import type { RequiredRight } from './caller.ts';
import { invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, textAt } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { isFrom } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';

const partyKinds = ['CanActAs', 'CanReadAs', 'CanExecuteAs'] as const;
const plainKinds = [
  'CanActAsAnyParty',
  'CanReadAsAnyParty',
  'CanExecuteAsAnyParty',
  'ParticipantAdmin',
  'IdentityProviderAdmin',
] as const;

export type Right =
  | { readonly kind: (typeof partyKinds)[number]; readonly party: string }
  | { readonly kind: (typeof plainKinds)[number] };

/** A text that identifies a right. */
export function keyOf(right: Right): string {
  return 'party' in right ? `${right.kind}:${right.party}` : right.kind;
}

export function rightBody(right: Right): JsonObject {
  return { kind: { [right.kind]: { value: 'party' in right ? { party: right.party } : {} } } };
}

function parseRight(value: Json, release: Release): Right {
  const kinds = asObject(asObject(value)?.['kind']) ?? {};
  const [name = ''] = Object.keys(kinds);
  const withParty = partyKinds.find((kind) => kind === name);
  if (withParty !== undefined) {
    const party = textAt(kinds[name], 'value', 'party');
    if (party === '') throw missingField('party');
    return { kind: withParty, party };
  }
  const plainKind = plainKinds.find((kind) => kind === name);
  const isUnsupported = plainKind === 'CanActAsAnyParty' && !isFrom(release, '3.6');
  if (plainKind === undefined || isUnsupported) throw invalidArgument('unknown kind of right - check that it is set');
  return { kind: plainKind };
}

/**
 * Parses the `rights` of a request. Throws INVALID_ARGUMENT or MISSING_FIELD for a right that the release does not
 * know.
 */
export function parseRights(value: Json | undefined, release: Release): Right[] {
  return asList(value).map((right) => parseRight(right, release));
}

function implying(
  requiredRight: Exclude<RequiredRight, 'authenticated' | { readonly administer: string }>,
): readonly Right[] {
  if (requiredRight === 'admin') return [{ kind: 'ParticipantAdmin' }];
  if (requiredRight === 'read-as-any-party') return [{ kind: 'CanReadAsAnyParty' }, { kind: 'CanActAsAnyParty' }];
  if ('actAs' in requiredRight) return [{ kind: 'CanActAs', party: requiredRight.actAs }, { kind: 'CanActAsAnyParty' }];
  if ('readAs' in requiredRight) {
    return [
      { kind: 'CanReadAs', party: requiredRight.readAs },
      ...implying('read-as-any-party'),
      ...implying({ actAs: requiredRight.readAs }),
    ];
  }
  const party = requiredRight.executeAs;
  return [{ kind: 'CanExecuteAs', party }, { kind: 'CanExecuteAsAnyParty' }, ...implying({ actAs: party })];
}

/**
 * Whether the rights of a user are enough for a request.
 * @param identityProviderId that of the user; empty for the default one
 */
export function isSufficient(
  has: (right: Right) => boolean,
  requiredRight: RequiredRight,
  identityProviderId: string,
): boolean {
  if (requiredRight === 'authenticated') return true;
  if (typeof requiredRight === 'object' && 'administer' in requiredRight) {
    if (has({ kind: 'ParticipantAdmin' })) return true;
    return has({ kind: 'IdentityProviderAdmin' }) && requiredRight.administer === identityProviderId;
  }
  return implying(requiredRight).some(has);
}
