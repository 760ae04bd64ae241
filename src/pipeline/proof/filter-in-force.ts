/**
 * Finds the filter that a session uses. The stored filter takes precedence, because it may have been extended since
 * this process was configured, or because an extension to the configured filter may be due.
 */
import { parseFilter, type StoredFilterSpec, type StoredFilter } from '../../model/stream.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

export interface EffectiveFilter {
  readonly identity: StreamIdentity;
  readonly parts: PipelineParts;
}

/** The configured filter, unless the stored filter replaces it. Any other filter is refused when the session opens. */
export function filterInForce(
  allParts: PipelineParts,
  configuredIdentity: StreamIdentity,
  storedFilter: StoredFilter | undefined,
): EffectiveFilter {
  if (storedFilter === undefined || !usesStoredFilter(storedFilter, configuredIdentity.filterHash))
    return { identity: configuredIdentity, parts: allParts };
  const { filter: json, filterHash } = storedFilter;
  const filterSpec = parseFilter(json);
  return {
    identity: { ...configuredIdentity, filter: canonical(filterSpec), filterHash },
    parts: withFilter(allParts, filterSpec),
  };
}

function usesStoredFilter({ filterHash, extendedFrom, coming }: StoredFilter, configuredHash: string): boolean {
  return configuredHash !== filterHash && (extendedFrom.includes(configuredHash) || coming === configuredHash);
}

/** The parts as if they were configured with this filter. */
export function withFilter(allParts: PipelineParts, filterSpec: StoredFilterSpec): PipelineParts {
  const { parties, templates, createdEventBlobs, topology, interfaces: wantedInterfaces } = filterSpec;
  return {
    ...allParts,
    filter: { ...allParts.filter, parties, templates, createdEventBlobs, topology },
    wantedInterfaces,
  };
}

/** The filter in the form that was hashed. A value that is read from jsonb has its keys in a different order. */
function canonical({ createdEventBlobs, interfaces, parties, shape, templates, topology }: StoredFilterSpec): string {
  return JSON.stringify({ createdEventBlobs, interfaces, parties, shape, templates, topology });
}

const filterOptions = [
  ['parties', 'LEDGER_PARTIES'],
  ['templates', 'LEDGER_TEMPLATES'],
  ['interfaces', 'LEDGER_INTERFACES'],
  ['createdEventBlobs', 'LEDGER_CREATED_EVENT_BLOBS'],
  ['topology', 'LEDGER_TOPOLOGY'],
] as const;

/** The options that differ from the filter in force. */
export function outdatedOptions(
  configuredIdentity: StreamIdentity,
  identityInForce: StreamIdentity,
): readonly string[] {
  const [configuredFilter, currentFilter] = [
    parseFilter(configuredIdentity.filter),
    parseFilter(identityInForce.filter),
  ];
  return filterOptions
    .filter(([filterKey]) => String(configuredFilter[filterKey]) !== String(currentFilter[filterKey]))
    .map(([, option]) => option);
}
