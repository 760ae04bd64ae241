/** Which interfaces a participant knows. A request that names another one is refused whole. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { activeContractsRequest, type LedgerFilter } from './request-format.ts';
import { unreadRelease } from './release.ts';
import type { StateCalls } from './state.ts';

/**
 * Those of these interfaces that may stand in a filter; the participant is asked for contracts of each alone.
 * @param filter for whom; its templates and interfaces do not count
 * @param at an offset at which it shows active contracts
 * @throws IndexerError whatever it answers but that it does not know the interface
 */
export async function knownInterfaces(
  { state }: { readonly state: Pick<StateCalls, 'activeContracts'> },
  filter: Omit<LedgerFilter, 'interfaces'>,
  interfaces: readonly string[],
  at: number,
): Promise<readonly string[]> {
  const known: string[] = [];
  for (const id of interfaces) {
    if (await isTaken(state, { ...filter, interfaces: [id], onlyInterfaces: true }, at)) known.push(id);
  }
  return known;
}

/** Those of these ids that are templates of the participant; otherwise as {@link knownInterfaces}. */
export async function knownTemplates(
  { state }: { readonly state: Pick<StateCalls, 'activeContracts'> },
  filter: Omit<LedgerFilter, 'interfaces'>,
  templates: readonly string[],
  at: number,
): Promise<readonly string[]> {
  const known: string[] = [];
  for (const id of templates) {
    if (await isTaken(state, { ...filter, templates: [id], interfaces: [] }, at)) known.push(id);
  }
  return known;
}

/** Whether the participant knows what the filter names. */
async function isTaken(state: Pick<StateCalls, 'activeContracts'>, filter: LedgerFilter, at: number): Promise<boolean> {
  try {
    // Whether there is a contract does not matter. Without what is in flight a list is refused less often.
    const request = activeContractsRequest(at, filter, unreadRelease);
    for await (const _ of state.activeContracts(request, { limit: 1 })) break;
    return true;
  } catch (thrown) {
    if (toIndexerError(thrown).code !== 'LEDGER_FILTER_UNKNOWN') throw thrown;
    return false;
  }
}
