/** What a filter is made of, and what another one has that it lacks. Pure. */

/** Something that a filter asks for: `*` stands for all parties or templates, nothing for blobs and topology. */
export interface FilterPart {
  readonly kind: 'party' | 'template' | 'interface' | 'blobs' | 'topology';
  readonly name: string;
}

/** A filter as the stream row keeps it: the words of the configuration, sorted. */
export interface KeptFilter {
  readonly createdEventBlobs: boolean;
  readonly interfaces: readonly string[];
  readonly parties: readonly string[];
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  readonly templates: readonly string[];
  readonly topology: boolean;
}

/** @param json canonical, as `filterFingerprint` writes it */
export function keptFilter(json: string): KeptFilter {
  return JSON.parse(json) as KeptFilter;
}

/** All parts of a filter, in the order of kinds. */
export function partsOf(filter: KeptFilter): readonly FilterPart[] {
  const orAll = (names: readonly string[]): readonly string[] => (names.length === 0 ? ['*'] : names);
  return [
    ...orAll(filter.parties).map((name) => ({ kind: 'party' as const, name })),
    ...orAll(filter.templates).map((name) => ({ kind: 'template' as const, name })),
    ...filter.interfaces.map((name) => ({ kind: 'interface' as const, name })),
    ...(filter.createdEventBlobs ? [{ kind: 'blobs' as const, name: '' }] : []),
    ...(filter.topology ? [{ kind: 'topology' as const, name: '' }] : []),
  ];
}

/** What `wider` asks for and `former` does not: nothing where `former` asks for all of the kind. */
export function addedParts(former: KeptFilter, wider: KeptFilter): readonly FilterPart[] {
  const had = partsOf(former);
  const has = (kind: FilterPart['kind'], name: string): boolean =>
    had.some((part) => part.kind === kind && part.name === name);
  return partsOf(wider).filter(({ kind, name }) => !has(kind, name) && !has(kind, '*'));
}

/**
 * Whether contracts that were active before may be missing under the wider filter. Views of interfaces are gathered by
 * themselves where the filter shows the contracts anyhow, and topology has no past that could be asked for.
 */
export function bringsContracts(part: FilterPart, wider: KeptFilter): boolean {
  if (part.kind === 'topology') return false;
  return part.kind !== 'interface' || wider.templates.length > 0;
}

/** What was asked for with `widen`. */
export interface WantedWidening {
  /** Canonical JSON of the whole new filter, and its hash. */
  readonly filter: string;
  readonly filterHash: string;
  /** Hash of the filter that it widens. */
  readonly from: string;
}

/** The filter of the stream row, and which others an indexer may be configured with beside it. */
export interface StoredFilter {
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters that it was widened from. */
  readonly widenedFrom: readonly string[];
  /** Hash of the filter that it is about to be widened to; null: it is not. */
  readonly coming: string | null;
}
