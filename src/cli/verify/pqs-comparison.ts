/**
 * Compares counts of a PQS database and this database at an offset, and finds the names, offsets and rows that differ.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import {
  pqsKinds,
  type Count,
  type CountSubject,
  type Keys,
  type PqsSide,
  type OffsetReach,
  type Span,
} from '../../store/verify/pqs-side.ts';

export interface PqsComparison {
  /** Offset at which active contracts were compared. */
  readonly at: number;
  /**
   * First and last offset of the compared events (both inclusive); undefined if the databases have no common history.
   */
  readonly events: { readonly from: number; readonly to: number } | undefined;
  /** Number of counted rows on both sides. */
  readonly rows: { readonly pqs: number; readonly indexer: number };
  /** Number of update ids that were looked up on both sides. */
  readonly updates: number;
  readonly differences: readonly PqsDifference[];
  /** Templates, interfaces and choices that only the PQS has. */
  readonly onlyPqs: readonly string[];
  /** Names that only this database has. They are not differences, because this database stores more. */
  readonly onlyIndexer: readonly string[];
}

export interface PqsDifference extends Omit<CountSubject, 'part' | 'kind'> {
  readonly kind: CountSubject['kind'] | 'updates';
  /** First offset of the range; `to` is its last offset. Both are inclusive. */
  readonly from: number;
  readonly to: number;
  readonly pqs: number;
  readonly indexer: number;
  /** Number of rows that only one side has, or whose contents differ. */
  readonly missing: number;
  readonly extra: number;
  /** The first of these rows: a contract id; for events, an offset and a contract id. */
  readonly firstMissing: readonly string[];
  readonly firstExtra: readonly string[];
}

/** Maximum number of rows that are listed per difference. */
const maxListed = 10;
/** Number of newest updates that are looked up, to check that both databases belong to the same ledger. */
const maxIdentifyingUpdates = 100;

export interface ComparedDatabases {
  readonly pqs: PqsSide;
  readonly indexer: PqsSide;
}

export interface ComparisonRequest {
  /** Offset to compare at; undefined for the newest offset that both databases have. */
  readonly at: number | undefined;
  /** Number of ranges in which events are counted. */
  readonly parts: number;
  readonly stop: AbortSignal;
}

/** @throws IndexerError COMPARE_IMPOSSIBLE, INTERRUPTED; STORE_ errors */
export async function comparePqs(databases: ComparedDatabases, request: ComparisonRequest): Promise<PqsComparison> {
  const span = await spanOf(databases, request);
  const [updates, otherUpdates] = await checkSameLedger(databases, span);
  const counts: Pair[] = [];
  for (const kind of pqsKinds) {
    if (kind !== 'active' && span.from > span.to) continue;
    assertNotStopped(request.stop);
    const [pqs, indexer] = await Promise.all([databases.pqs.counts(kind, span), databases.indexer.counts(kind, span)]);
    counts.push(...pairCounts(pqs, indexer));
  }
  const [pqsSubjects, indexerSubjects] = [subjectsOfSide(counts, 'pqs'), subjectsOfSide(counts, 'indexer')];
  const differences = otherUpdates === undefined ? [] : [otherUpdates];
  for (const pair of counts.filter(isUnequal)) {
    const subject = subjectOf(pair.of);
    if (!pqsSubjects.has(subject) || !indexerSubjects.has(subject)) continue;
    assertNotStopped(request.stop);
    differences.push(await examinePair(databases, span, pair));
  }
  return {
    at: span.to,
    events: span.from > span.to ? undefined : { from: span.from, to: span.to },
    rows: { pqs: total(counts, 'pqs'), indexer: total(counts, 'indexer') },
    updates,
    differences,
    onlyPqs: [...pqsSubjects].filter((subject) => !indexerSubjects.has(subject)).sort(),
    onlyIndexer: [...indexerSubjects].filter((subject) => !pqsSubjects.has(subject)).sort(),
  };
}

/** The range of offsets that can be read in both databases. */
async function spanOf({ pqs, indexer }: ComparedDatabases, { at: offset, parts }: ComparisonRequest): Promise<Span> {
  const missingObjects = await pqs.missing();
  if (missingObjects.length > 0) {
    throw cannotCompareError(
      `the schema of the PQS has no functions ${missingObjects.join(', ')}`,
      'pass the schema that has them with --pqs-schema; a PQS before Daml 3 cannot be compared, because its offsets are text',
    );
  }
  const [pqsReach, indexerReach] = await Promise.all([pqs.reach(), indexer.reach()]);
  if (pqsReach === undefined || indexerReach === undefined) {
    throw cannotCompareError(
      `${pqsReach === undefined ? 'the PQS' : 'this database'} has no history yet`,
      'wait until it has stored history',
    );
  }
  const to = offset ?? Math.min(pqsReach.latest, indexerReach.latest);
  assertReachable(to, 'the PQS', pqsReach);
  assertReachable(to, 'this database', indexerReach);
  return { from: Math.max(pqsReach.oldest, indexerReach.oldest) + 1, to, parts };
}

function assertReachable(at: number, databaseName: string, { oldest, latest: latestOffset }: OffsetReach): void {
  if (at >= oldest && at <= latestOffset) return;
  throw cannotCompareError(
    `offset ${String(at)} is not stored in both: ${databaseName} has ${String(oldest)} to ${String(latestOffset)}`,
    'wait until the other database has caught up, or pass an offset that both have with --at; offsets of two participants cannot be compared',
  );
}

/**
 * The number of updates looked up, and their differences.
 * @throws IndexerError COMPARE_IMPOSSIBLE if no update is the same
 */
async function checkSameLedger(
  { pqs, indexer }: ComparedDatabases,
  span: Span,
): Promise<readonly [number, PqsDifference | undefined]> {
  const pqsUpdates = await pqs.updates(span, maxIdentifyingUpdates);
  const ownUpdates = new Map(await indexer.updatesAt(pqsUpdates.map(([offset]) => offset)));
  const differentUpdates = pqsUpdates.filter(([offset, id]) => ownUpdates.get(offset) !== id);
  if (pqsUpdates.length > 0 && differentUpdates.length === pqsUpdates.length) {
    throw cannotCompareError(
      `none of the newest ${String(pqsUpdates.length)} updates of the PQS is stored here at its offset`,
      'use databases of the same participant: offsets of another participant differ',
    );
  }
  if (differentUpdates.length === 0) return [pqsUpdates.length, undefined];
  const first = differentUpdates.slice(0, maxListed).map(([offset, id]) => `${String(offset)} ${id}`);
  const updatesSubject = { kind: 'updates', name: 'updates', type: 'template', choice: '' } as const;
  const counts = {
    pqs: pqsUpdates.length,
    indexer: pqsUpdates.length - differentUpdates.length,
    missing: differentUpdates.length,
    extra: 0,
  };
  const [from, to] = [pqsUpdates.at(-1)?.[0] ?? span.from, pqsUpdates[0]?.[0] ?? span.to];
  return [pqsUpdates.length, { ...updatesSubject, from, to, ...counts, firstMissing: first, firstExtra: [] }];
}

interface Pair {
  readonly of: CountSubject;
  readonly pqs: Count | undefined;
  readonly indexer: Count | undefined;
}

function pairCounts(pqs: readonly Count[], indexer: readonly Count[]): readonly Pair[] {
  const keyOf = ({ name, type, choice, part }: CountSubject): string => [name, type, choice, part].join('\0');
  const indexerCounts = new Map(indexer.map((count) => [keyOf(count), count]));
  const pqsPairs = pqs.map((count): Pair => ({ of: count, pqs: count, indexer: indexerCounts.get(keyOf(count)) }));
  const pqsKeys = new Set(pqs.map(keyOf));
  const rest = indexer.filter((count) => !pqsKeys.has(keyOf(count)));
  return [...pqsPairs, ...rest.map((count): Pair => ({ of: count, pqs: undefined, indexer: count }))];
}

function isUnequal({ pqs, indexer }: Pair): boolean {
  return pqs?.count !== indexer?.count || pqs?.sum !== indexer?.sum;
}

function subjectsOfSide(pairs: readonly Pair[], side: 'pqs' | 'indexer'): ReadonlySet<string> {
  return new Set(pairs.filter((pair) => pair[side] !== undefined).map(({ of: subject }) => subjectOf(subject)));
}

/** The part of a name that filters select or omit completely. */
function subjectOf({ kind, name, type, choice }: CountSubject): string {
  return kind === 'exercises' ? `choice ${choice} of ${name}` : `${type} ${name}`;
}

/** Compares both sides of a count row by row. */
async function examinePair(
  databases: ComparedDatabases,
  span: Span,
  { of: subject, pqs, indexer }: Pair,
): Promise<PqsDifference> {
  const subspan = subject.kind === 'active' ? { ...span, from: span.to } : subspanOf(span, subject.part);
  const readKeys = (side: PqsSide, count: Count | undefined): Keys =>
    count === undefined ? noKeys() : side.keys(subject, subspan);
  const differences = { missing: 0, extra: 0, firstMissing: [] as string[], firstExtra: [] as string[] };
  for await (const [side, key] of unmatchedKeys(readKeys(databases.pqs, pqs), readKeys(databases.indexer, indexer))) {
    differences[side] += 1;
    const first = side === 'missing' ? differences.firstMissing : differences.firstExtra;
    if (first.length < maxListed) first.push(stripPadding(key));
  }
  const { kind, name, type, choice } = subject;
  return {
    kind,
    name,
    type,
    choice,
    from: subspan.from,
    to: subspan.to,
    pqs: pqs?.count ?? 0,
    indexer: indexer?.count ?? 0,
    ...differences,
  };
}

/** The offsets of one part of a span, divided in the same way as for counting. */
function subspanOf({ from, to, parts }: Span, partIndex: number): Span {
  const length = to - from + 1;
  return {
    from: from + Math.ceil((partIndex * length) / parts),
    to: from + Math.ceil(((partIndex + 1) * length) / parts) - 1,
    parts: 1,
  };
}

/** Removes the leading zeros that keys have for sorting. */
function stripPadding(key: string): string {
  return key.replace(/^0+(?=\d+ )/, '');
}

async function* noKeys(): Keys {
  // There is nothing to read.
}

/** Rows that only one of two sorted sequences has. */
async function* unmatchedKeys(pqs: Keys, indexer: Keys): AsyncGenerator<readonly ['missing' | 'extra', string]> {
  const [pqsKeys, indexerKeys] = [flattenPages(pqs), flattenPages(indexer)];
  let [a, b] = [await pqsKeys.next(), await indexerKeys.next()];
  while (a.done !== true || b.done !== true) {
    const order =
      a.done === true ? 1 : b.done === true ? -1 : Buffer.compare(Buffer.from(a.value), Buffer.from(b.value));
    if (order < 0) yield ['missing', a.value as string];
    if (order > 0) yield ['extra', b.value as string];
    if (order <= 0) a = await pqsKeys.next();
    if (order >= 0) b = await indexerKeys.next();
  }
}

async function* flattenPages(pages: Keys): AsyncGenerator<string, undefined> {
  for await (const page of pages) yield* page;
  return undefined;
}

function total(pairs: readonly Pair[], side: 'pqs' | 'indexer'): number {
  return pairs.reduce((sum, pair) => sum + (pair[side]?.count ?? 0), 0);
}

function assertNotStopped(stop: AbortSignal): void {
  if (!stop.aborted) return;
  throw new IndexerError('the comparison was interrupted', {
    code: 'INTERRUPTED',
    remedy: 'run `ledger-indexer compare-pqs` again',
  });
}

function cannotCompareError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'COMPARE_IMPOSSIBLE', remedy });
}
