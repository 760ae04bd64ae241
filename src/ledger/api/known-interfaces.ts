/** Finds the interfaces that a participant knows. A request that names an unknown interface is refused completely. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { activeContractsRequest, type LedgerFilter } from './request-format.ts';
import { unreadRelease } from './release.ts';
import type { StateCalls } from './state.ts';

/**
 * The subset of these interfaces that a filter may name. Sends one request for contracts of each.
 * @param filter its parties are used; its templates and interfaces are ignored
 * @param at an offset at which it returns active contracts
 * @throws IndexerError the participant's error, except that it does not know the interface
 */
export async function findKnownInterfaces(
  { state }: { readonly state: Pick<StateCalls, 'activeContracts'> },
  filter: Omit<LedgerFilter, 'interfaces'>,
  interfaces: readonly string[],
  at: number,
): Promise<readonly string[]> {
  const knownIds: string[] = [];
  for (const id of interfaces) {
    if (await isFilterAccepted(state, { ...filter, interfaces: [id], onlyInterfaces: true }, at)) knownIds.push(id);
  }
  return knownIds;
}

/** The subset of these ids that are templates of the participant; otherwise as {@link findKnownInterfaces}. */
export async function findKnownTemplates(
  { state }: { readonly state: Pick<StateCalls, 'activeContracts'> },
  filter: Omit<LedgerFilter, 'interfaces'>,
  templates: readonly string[],
  at: number,
): Promise<readonly string[]> {
  const knownIds: string[] = [];
  for (const id of templates) {
    if (await isFilterAccepted(state, { ...filter, templates: [id], interfaces: [] }, at)) knownIds.push(id);
  }
  return knownIds;
}

/** Whether the participant knows the names in the filter. */
async function isFilterAccepted(
  state: Pick<StateCalls, 'activeContracts'>,
  filter: LedgerFilter,
  at: number,
): Promise<boolean> {
  try {
    // Whether there is a contract does not matter. A list without reassignments in flight is refused less often.
    const request = activeContractsRequest(at, filter, unreadRelease);
    for await (const _ of state.activeContracts(request, { limit: 1 })) break;
    return true;
  } catch (thrown) {
    if (toIndexerError(thrown).code !== 'LEDGER_FILTER_UNKNOWN') throw thrown;
    return false;
  }
}
