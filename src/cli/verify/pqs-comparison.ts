/**
 * Compares counts of a PQS database and this database at an offset, and finds the names, offsets and rows that differ.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import {
  pqsKinds,
  type Count,
  type Counted,
  type Keys,
  type PqsSide,
  type Reach,
  type Span,
} from '../../store/verify/pqs-side.ts';

export interface ComparedPqs {
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

export interface PqsDifference extends Omit<Counted, 'part' | 'kind'> {
  readonly kind: Counted['kind'] | 'updates';
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
const named = 10;
/** Number of newest updates that are looked up, to check that both databases belong to the same ledger. */
const recognizedBy = 100;

export interface Sides {
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
export async function comparePqs(sides: Sides, request: ComparisonRequest): Promise<ComparedPqs> {
  const span = await spanOf(sides, request);
  const [updates, otherUpdates] = await sameLedger(sides, span);
  const counts: Pair[] = [];
  for (const kind of pqsKinds) {
    if (kind !== 'active' && span.from > span.to) continue;
    stopped(request.stop);
    const [pqs, indexer] = await Promise.all([sides.pqs.counts(kind, span), sides.indexer.counts(kind, span)]);
    counts.push(...paired(pqs, indexer));
  }
  const [there, ownSubjects] = [subjectsOf(counts, 'pqs'), subjectsOf(counts, 'indexer')];
  const differences = otherUpdates === undefined ? [] : [otherUpdates];
  for (const pair of counts.filter(isUnequal)) {
    const subject = subjectOf(pair.of);
    if (!there.has(subject) || !ownSubjects.has(subject)) continue;
    stopped(request.stop);
    differences.push(await lookedInto(sides, span, pair));
  }
  return {
    at: span.to,
    events: span.from > span.to ? undefined : { from: span.from, to: span.to },
    rows: { pqs: total(counts, 'pqs'), indexer: total(counts, 'indexer') },
    updates,
    differences,
    onlyPqs: [...there].filter((subject) => !ownSubjects.has(subject)).sort(),
    onlyIndexer: [...ownSubjects].filter((subject) => !there.has(subject)).sort(),
  };
}

/** The range of offsets that can be read in both databases. */
async function spanOf({ pqs, indexer }: Sides, { at, parts }: ComparisonRequest): Promise<Span> {
  const missing = await pqs.missing();
  if (missing.length > 0) {
    throw impossible(
      `the schema of the PQS has no functions ${missing.join(', ')}`,
      'pass the schema that has them with --pqs-schema; a PQS before Daml 3 cannot be compared, because its offsets are text',
    );
  }
  const [there, ownReach] = await Promise.all([pqs.reach(), indexer.reach()]);
  if (there === undefined || ownReach === undefined) {
    throw impossible(
      `${there === undefined ? 'the PQS' : 'this database'} has no history yet`,
      'wait until it has stored history',
    );
  }
  const to = at ?? Math.min(there.latest, ownReach.latest);
  refuseOutside(to, 'the PQS', there);
  refuseOutside(to, 'this database', ownReach);
  return { from: Math.max(there.oldest, ownReach.oldest) + 1, to, parts };
}

function refuseOutside(at: number, who: string, { oldest, latest }: Reach): void {
  if (at >= oldest && at <= latest) return;
  throw impossible(
    `offset ${String(at)} is not stored in both: ${who} has ${String(oldest)} to ${String(latest)}`,
    'wait until the other database has caught up, or pass an offset that both have with --at; offsets of two participants cannot be compared',
  );
}

/**
 * The number of updates looked up, and their differences.
 * @throws IndexerError COMPARE_IMPOSSIBLE if no update is the same
 */
async function sameLedger({ pqs, indexer }: Sides, span: Span): Promise<readonly [number, PqsDifference | undefined]> {
  const pqsUpdates = await pqs.updates(span, recognizedBy);
  const ownUpdates = new Map(await indexer.updatesAt(pqsUpdates.map(([at]) => at)));
  const others = pqsUpdates.filter(([at, id]) => ownUpdates.get(at) !== id);
  if (pqsUpdates.length > 0 && others.length === pqsUpdates.length) {
    throw impossible(
      `none of the newest ${String(pqsUpdates.length)} updates of the PQS is stored here at its offset`,
      'use databases of the same participant: offsets of another participant differ',
    );
  }
  if (others.length === 0) return [pqsUpdates.length, undefined];
  const first = others.slice(0, named).map(([at, id]) => `${String(at)} ${id}`);
  const counted = { kind: 'updates', name: 'updates', type: 'template', choice: '' } as const;
  const counts = {
    pqs: pqsUpdates.length,
    indexer: pqsUpdates.length - others.length,
    missing: others.length,
    extra: 0,
  };
  const [from, to] = [pqsUpdates.at(-1)?.[0] ?? span.from, pqsUpdates[0]?.[0] ?? span.to];
  return [pqsUpdates.length, { ...counted, from, to, ...counts, firstMissing: first, firstExtra: [] }];
}

interface Pair {
  readonly of: Counted;
  readonly pqs: Count | undefined;
  readonly indexer: Count | undefined;
}

function paired(pqs: readonly Count[], indexer: readonly Count[]): readonly Pair[] {
  const keyOf = ({ name, type, choice, part }: Counted): string => [name, type, choice, part].join('\0');
  const ownCounts = new Map(indexer.map((count) => [keyOf(count), count]));
  const both = pqs.map((count): Pair => ({ of: count, pqs: count, indexer: ownCounts.get(keyOf(count)) }));
  const known = new Set(pqs.map(keyOf));
  const rest = indexer.filter((count) => !known.has(keyOf(count)));
  return [...both, ...rest.map((count): Pair => ({ of: count, pqs: undefined, indexer: count }))];
}

function isUnequal({ pqs, indexer }: Pair): boolean {
  return pqs?.count !== indexer?.count || pqs?.sum !== indexer?.sum;
}

function subjectsOf(pairs: readonly Pair[], side: 'pqs' | 'indexer'): ReadonlySet<string> {
  return new Set(pairs.filter((pair) => pair[side] !== undefined).map(({ of }) => subjectOf(of)));
}

/** The part of a name that filters select or omit completely. */
function subjectOf({ kind, name, type, choice }: Counted): string {
  return kind === 'exercises' ? `choice ${choice} of ${name}` : `${type} ${name}`;
}

/** Compares both sides of a count row by row. */
async function lookedInto(sides: Sides, span: Span, { of, pqs, indexer }: Pair): Promise<PqsDifference> {
  const part = of.kind === 'active' ? { ...span, from: span.to } : partOf(span, of.part);
  const read = (side: PqsSide, count: Count | undefined): Keys => (count === undefined ? none() : side.keys(of, part));
  const differing = { missing: 0, extra: 0, firstMissing: [] as string[], firstExtra: [] as string[] };
  for await (const [which, key] of unmatched(read(sides.pqs, pqs), read(sides.indexer, indexer))) {
    differing[which] += 1;
    const first = which === 'missing' ? differing.firstMissing : differing.firstExtra;
    if (first.length < named) first.push(stripPadding(key));
  }
  const { kind, name, type, choice } = of;
  return {
    kind,
    name,
    type,
    choice,
    from: part.from,
    to: part.to,
    pqs: pqs?.count ?? 0,
    indexer: indexer?.count ?? 0,
    ...differing,
  };
}

/** The offsets of one part of a span, divided in the same way as for counting. */
function partOf({ from, to, parts }: Span, part: number): Span {
  const length = to - from + 1;
  return {
    from: from + Math.ceil((part * length) / parts),
    to: from + Math.ceil(((part + 1) * length) / parts) - 1,
    parts: 1,
  };
}

/** Removes the leading zeros that keys have for sorting. */
function stripPadding(key: string): string {
  return key.replace(/^0+(?=\d+ )/, '');
}

async function* none(): Keys {
  // There is nothing to read.
}

/** Rows that only one of two sorted sequences has. */
async function* unmatched(pqs: Keys, indexer: Keys): AsyncGenerator<readonly ['missing' | 'extra', string]> {
  const [left, right] = [oneByOne(pqs), oneByOne(indexer)];
  let [a, b] = [await left.next(), await right.next()];
  while (a.done !== true || b.done !== true) {
    const order =
      a.done === true ? 1 : b.done === true ? -1 : Buffer.compare(Buffer.from(a.value), Buffer.from(b.value));
    if (order < 0) yield ['missing', a.value as string];
    if (order > 0) yield ['extra', b.value as string];
    if (order <= 0) a = await left.next();
    if (order >= 0) b = await right.next();
  }
}

async function* oneByOne(pages: Keys): AsyncGenerator<string, undefined> {
  for await (const page of pages) yield* page;
  return undefined;
}

function total(pairs: readonly Pair[], side: 'pqs' | 'indexer'): number {
  return pairs.reduce((sum, pair) => sum + (pair[side]?.count ?? 0), 0);
}

function stopped(stop: AbortSignal): void {
  if (!stop.aborted) return;
  throw new IndexerError('the comparison was interrupted', {
    code: 'INTERRUPTED',
    remedy: 'run `ledger-indexer compare-pqs` again',
  });
}

function impossible(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'COMPARE_IMPOSSIBLE', remedy });
}
