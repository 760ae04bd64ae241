/**
 * Finds the filter that a session uses. The stored filter takes precedence, because it may have been extended since
 * this process was configured, or because an extension to the configured filter may be due.
 */
import { keptFilter, type KeptFilter, type StoredFilter } from '../../model/stream.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

export interface InForce {
  readonly identity: StreamIdentity;
  readonly parts: PipelineParts;
}

/** The configured filter, unless the stored filter replaces it. Any other filter is refused when the session opens. */
export function filterInForce(
  all: PipelineParts,
  configured: StreamIdentity,
  stored: StoredFilter | undefined,
): InForce {
  if (stored === undefined || !standsIn(stored, configured.filterHash)) return { identity: configured, parts: all };
  const { filter: json, filterHash } = stored;
  const kept = keptFilter(json);
  return { identity: { ...configured, filter: canonical(kept), filterHash }, parts: withFilter(all, kept) };
}

function standsIn({ filterHash, extendedFrom, coming }: StoredFilter, configured: string): boolean {
  return configured !== filterHash && (extendedFrom.includes(configured) || coming === configured);
}

/** The parts as if they were configured with this filter. */
export function withFilter(all: PipelineParts, kept: KeptFilter): PipelineParts {
  const { parties, templates, createdEventBlobs, topology, interfaces: wantedInterfaces } = kept;
  return { ...all, filter: { ...all.filter, parties, templates, createdEventBlobs, topology }, wantedInterfaces };
}

/** The filter in the form that was hashed. A value that is read from jsonb has its keys in a different order. */
function canonical({ createdEventBlobs, interfaces, parties, shape, templates, topology }: KeptFilter): string {
  return JSON.stringify({ createdEventBlobs, interfaces, parties, shape, templates, topology });
}

const partsWithOption = [
  ['parties', 'LEDGER_PARTIES'],
  ['templates', 'LEDGER_TEMPLATES'],
  ['interfaces', 'LEDGER_INTERFACES'],
  ['createdEventBlobs', 'LEDGER_CREATED_EVENT_BLOBS'],
  ['topology', 'LEDGER_TOPOLOGY'],
] as const;

/** The options that differ from the filter in force. */
export function outdatedOptions(configured: StreamIdentity, inForce: StreamIdentity): readonly string[] {
  const [configuredFilter, currentFilter] = [keptFilter(configured.filter), keptFilter(inForce.filter)];
  return partsWithOption
    .filter(([part]) => String(configuredFilter[part]) !== String(currentFilter[part]))
    .map(([, option]) => option);
}
