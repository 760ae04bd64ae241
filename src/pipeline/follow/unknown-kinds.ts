/**
 * Handles updates of kinds that this version does not know. They can be stored raw, but then their effect on contracts
 * is missing, and the active contracts would be wrong without a warning.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Update } from '../../model/update.ts';
import type { UnknownPolicy } from '../../model/unknown.ts';

/** @throws IndexerError UPDATE_KIND_UNKNOWN for an update that must not be stored raw under this policy */
export function refuseUnknownKind(update: Update, policy: UnknownPolicy): void {
  if (policy === 'store') return;
  for (const { what: partLabel, name, raw } of unknownParts(update)) {
    const names = namesContract(raw);
    if (names || policy === 'park')
      throw unknownKindError(`the ${partLabel} at offset ${String(update.offset)} is of kind ${name}`, names, update);
  }
}

interface UnknownItem {
  readonly what: string;
  readonly name: string;
  readonly raw: string;
}

/** The update itself, or the events of a topology update. */
function unknownParts(update: Update): readonly UnknownItem[] {
  if (update.kind === 'unknown') return [{ what: 'update', name: update.name, raw: update.raw }];
  if (update.kind !== 'topology') return [];
  return update.events.flatMap(({ name, raw }) => (raw === null ? [] : [{ what: 'topology event', name, raw }]));
}

function unknownKindError(subject: string, names: boolean, { offset }: Update): IndexerError {
  const contractNote = names ? ', which names contracts: without it the active contracts are wrong' : '';
  return new IndexerError(`${subject}${contractNote}`, {
    code: 'UPDATE_KIND_UNKNOWN',
    remedy:
      'run a later version, which knows this kind; INDEXER_UNKNOWN_UPDATES=store stores it raw, INDEXER_QUARANTINE=true quarantines it',
    facts: { offset },
  });
}

/**
 * Whether a key of the message mentions contracts. A message that changes a contract has to name the contract. Payloads
 * are searched as well.
 */
function namesContract(raw: string): boolean {
  // The search is not recursive, because the nesting of the text may be deeper than the stack.
  const pendingValues: unknown[] = [JSON.parse(raw)];
  while (pendingValues.length > 0) {
    const value = pendingValues.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).some((key) => /contract/i.test(key))) return true;
    for (const innerValue of Object.values(value)) pendingValues.push(innerValue);
  }
  return false;
}
