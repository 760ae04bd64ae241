/**
 * Updates of kinds that this version does not know. Raw they can be kept, but what they do to contracts is not done then,
 * and the active contracts would be wrong without anybody noticing.
 */
import { ExitCode, IndexerError } from '../errors.ts';
import type { UnknownUpdate, Update } from '../model/update.ts';
import type { UnknownPolicy } from '../model/unknown.ts';

/** @throws IndexerError UPDATE_KIND_UNKNOWN for one that must not be kept raw under this policy */
export function refuseUnknownKind(update: Update, policy: UnknownPolicy): void {
  if (update.kind !== 'unknown' || policy === 'keep') return;
  const names = namesContract(update);
  if (policy === 'auto' && !names) return;
  const { name, offset } = update;
  const about = names ? ', which names contracts: without it the active contracts are wrong' : '';
  throw new IndexerError(`the update at offset ${String(offset)} is of kind ${name}${about}`, {
    code: 'UPDATE_KIND_UNKNOWN',
    retry: 'park',
    exitCode: ExitCode.undecodable,
    remedy:
      'run a version of ledger-indexer that knows this kind; INDEXER_UNKNOWN_UPDATES=keep stores it raw and goes on, INDEXER_QUARANTINE=true sets it aside',
    facts: { offset, kind: name },
  });
}

/** Whether a key of the message speaks of contracts: what changes one has to name it. Payloads are looked at as well. */
function namesContract({ raw }: UnknownUpdate): boolean {
  // Not recursive: the text may nest deeper than the stack.
  const left: unknown[] = [JSON.parse(raw)];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).some((key) => /contract/i.test(key))) return true;
    for (const inner of Object.values(value)) left.push(inner);
  }
  return false;
}
