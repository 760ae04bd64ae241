/**
 * `verify --tail` and `verify --range`: requests updates of a range again and compares them with the stored rows,
 * update by update. Finds gaps, updates that the ledger does not have, and rows that differ. Both sides are read in
 * parallel, so that the memory holds at most one slice of each.
 */
import { comparedFields, visibleFields, type ComparableRow } from '../../model/compared-rows.ts';
import { ledgerUpdateOf, type LedgerUpdate } from '../../ledger/frames/plain-frame.ts';
import {
  namesOfPackages,
  quarantinedOffsets,
  rangeEnd,
  storedFields,
  storedLines,
  tailBegin,
  type StoredRowLine,
} from '../../store/verify/stored-updates.ts';
import { digestOf } from './bucket-sums.ts';
import { readAllUpdates } from '../ledger/complete-reads.ts';
import { PackageNames, updatesAvailableAfter, toParticipantOffset, type VerifyCall, readToEnd } from './call.ts';
import { isSameFailure, packageOfAddedView, packageOfRecomputation } from './computed-views.ts';
import { cannotVerifyError, listedFindings, type Compared, type Finding } from './result.ts';

/** Maximum number of updates from the ledger in one slice; `sliceLength` limits the characters of its frames. */
const maxSliceUpdates = 500;
const sliceLength = 8 * 1024 * 1024;
/** Maximum number of package pairs that a note lists. */
const listedPackages = 10;

/** Compares the newest `count` stored updates, as far back as both sides have them. */
export async function verifyTail(call: VerifyCall, count: number): Promise<Compared> {
  const { client, stream } = call.snapshot;
  const from = Math.max(await tailBegin(client, count), await earliest(call));
  return compareRange(call, from, stream.checkpoint);
}

/** Compares updates with offsets from `first` to `last`, both inclusive. */
export async function verifyRange(call: VerifyCall, first: number, last: number): Promise<Compared> {
  const { checkpoint } = call.snapshot.stream;
  const minOffset = await earliest(call);
  if (first <= minOffset || last > checkpoint || last < first) {
    throw cannotVerifyError(
      `offsets ${String(first)} to ${String(last)} are not within ${String(minOffset + 1)} to ${String(checkpoint)}, the range that both sides have`,
      `pass offsets from ${String(minOffset + 1)} to ${String(checkpoint)}`,
    );
  }
  return compareRange(call, first - 1, last);
}

/** Updates after this offset are stored under the current filter, and the ledger still has them. */
async function earliest(call: VerifyCall): Promise<number> {
  const { coveredAfter, prunedToOffset } = call.snapshot.stream;
  return Math.max(coveredAfter, prunedToOffset, await updatesAvailableAfter(call));
}

async function compareRange(call: VerifyCall, from: number, to: number): Promise<Compared> {
  const comparison = new Comparison(call, from, to);
  // An empty range is possible, but the ledger rejects an end of 0.
  if (to > from) await comparison.run();
  return comparison.result();
}

class Comparison {
  readonly #call: VerifyCall;
  readonly #from: number;
  readonly #to: number;
  /** Offset up to which both sides were compared. */
  #reached: number;
  #quarantine: ReadonlySet<number> = new Set();
  readonly #names = new PackageNames();
  readonly #findings: Finding[] = [];
  #compared = 0;
  #different = 0;
  #quarantined = 0;
  /** Number of recomputed views, by the packages that computed them before and now. */
  readonly #recomputed = new Map<string, number>();
  #packageNames: ReadonlyMap<string, string> | undefined;

  constructor(call: VerifyCall, from: number, to: number) {
    this.#call = call;
    this.#from = from;
    this.#to = to;
    this.#reached = from;
  }

  async run(): Promise<void> {
    const { filter, snapshot } = this.#call;
    this.#quarantine = await quarantinedOffsets(snapshot.client, this.#from, this.#to);
    const parseUpdate = (text: string) => ({ ...ledgerUpdateOf(text), length: text.length });
    const [from, to] = [toParticipantOffset(this.#call, this.#from), toParticipantOffset(this.#call, this.#to)];
    const range = readAllUpdates(this.#call, { from, to, filter, read: parseUpdate });
    let waitingUpdates: LedgerUpdate[] = [];
    let length = 0;
    for await (const updates of readToEnd(this.#call, '/v2/updates', range)) {
      waitingUpdates.push(...updates.filter(({ rows }) => rows.length > 0).flatMap((update) => this.#inOurs(update)));
      length += updates.reduce((sum, update) => sum + update.length, 0);
      if (waitingUpdates.length < maxSliceUpdates && length < sliceLength) continue;
      await this.#slice(waitingUpdates, waitingUpdates.at(-1)?.offset ?? this.#reached);
      waitingUpdates = [];
      length = 0;
    }
    await this.#slice(waitingUpdates, this.#to);
    for (const finding of await this.#names.differences(snapshot)) this.#add([finding]);
  }

  /**
   * The update with its offset in the stream; none if it was stored before the stream was switched to this participant.
   */
  #inOurs(update: LedgerUpdate): readonly LedgerUpdate[] {
    const { participantOffsets } = this.#call;
    if (participantOffsets === undefined) return [update];
    const offset = participantOffsets.toStreamOffset(update.offset);
    return participantOffsets.isStored(update.synchronizerId, offset) ? [] : [{ ...update, offset }];
  }

  result(): Compared {
    return {
      atOffset: this.#to,
      fromOffset: this.#from,
      compared: this.#compared,
      different: this.#different,
      quarantined: this.#quarantined,
      findings: this.#findings,
      ...this.#anew(),
    };
  }

  /**
   * The note about recomputed views. They are not differences, because a participant computes views of the past with
   * the newest vetted package.
   */
  #anew(): Pick<Compared, 'recomputed' | 'note'> {
    if (this.#recomputed.size === 0) return {};
    const packages = [...this.#recomputed].map(([pair, views]) => `${pair}: ${String(views)}`);
    return {
      recomputed: [...this.#recomputed.values()].reduce((sum, views) => sum + views, 0),
      note: `the participant computes views of interfaces with other packages now, which is not a difference; views by packages, before and now (none: not computable): ${packages.slice(0, listedPackages).join(', ')}`,
    };
  }

  /**
   * Compares everything up to an offset. If many stored rows are missing on the ledger, they are read in further
   * slices.
   */
  async #slice(updates: readonly LedgerUpdate[], to: number): Promise<void> {
    const { client } = this.#call.snapshot;
    let remainingUpdates = updates;
    while (this.#reached < to) {
      const end = await rangeEnd(client, this.#reached, to, 2 * maxSliceUpdates);
      const lines = await storedLines(client, this.#reached, end);
      const updatesInSlice = remainingUpdates.filter(({ offset }) => offset <= end);
      remainingUpdates = remainingUpdates.slice(updatesInSlice.length);
      await this.#compare(updatesInSlice, byOffset(lines));
      this.#reached = end;
    }
  }

  async #compare(updates: readonly LedgerUpdate[], linesByOffset: Map<number, StoredRowLine[]>): Promise<void> {
    for (const { offset, rows, names } of updates) {
      const lines = linesByOffset.get(offset) ?? [];
      linesByOffset.delete(offset);
      this.#compared += 1;
      if (this.#quarantine.has(offset) && lines.length === 0) {
        this.#quarantined += 1;
        continue;
      }
      for (const name of names) this.#names.add(name);
      if (lines.length === 0) this.#add([{ type: 'missing', offset }]);
      else this.#add(await this.#differences(offset, rows, lines));
    }
    for (const offset of linesByOffset.keys()) this.#add([{ type: 'extra', offset }]);
  }

  #add(findings: readonly Finding[]): void {
    if (findings.length === 0) return;
    this.#different += 1;
    this.#findings.push(...findings.slice(0, listedFindings - this.#findings.length));
  }

  async #differences(
    offset: number,
    rows: readonly ComparableRow[],
    lines: readonly StoredRowLine[],
  ): Promise<readonly Finding[]> {
    const byKey = new Map(lines.map((line) => [line.key, line]));
    const findings: Finding[] = [];
    for (const row of rows) {
      const line = byKey.get(row.key);
      byKey.delete(row.key);
      if (line === undefined) {
        if (!(await this.#isAddedView(row, rows))) findings.push({ type: 'missing', offset, row: row.key });
      } else if (line.digest !== digestOf(row, line.redacted)) {
        const fields = await this.#fields(row, line);
        if (fields.length > 0) findings.push({ type: 'different', offset, row: row.key, fields });
      }
    }
    for (const key of byKey.keys()) findings.push({ type: 'extra', offset, row: key });
    return findings;
  }

  /** Whether the row is a view that a later version of the contract's package has added. Counts it as recomputed. */
  async #isAddedView(row: ComparableRow, rows: readonly ComparableRow[]): Promise<boolean> {
    if (row.kind !== 'view') return false;
    const contractKey = `contract ${row.key.split(' ')[1] ?? ''}`;
    const contract = rows.find(({ key }) => key === contractKey);
    const template = contract?.fields[comparedFields.contract.indexOf('template')] ?? '';
    this.#packageNames ??= await namesOfPackages(this.#call.snapshot.client);
    const pair = packageOfAddedView(row.fields, template.slice(0, template.indexOf(':')), this.#packageNames);
    if (pair !== undefined) this.#countRecomputed(pair);
    return pair !== undefined;
  }

  #countRecomputed(pair: string): void {
    this.#recomputed.set(pair, (this.#recomputed.get(pair) ?? 0) + 1);
  }

  /** Names of the fields that differ; empty for a view that the participant has computed again. */
  async #fields(row: ComparableRow, line: StoredRowLine): Promise<readonly string[]> {
    const { client } = this.#call.snapshot;
    const fields = (await storedFields(client, line)) ?? [];
    const names: readonly string[] = comparedFields[row.kind];
    const ledgerFields = visibleFields(row, line.redacted);
    if (row.kind === 'view') {
      this.#packageNames ??= await namesOfPackages(client);
      const pair = packageOfRecomputation(fields, ledgerFields, this.#packageNames);
      if (pair !== undefined) {
        this.#countRecomputed(pair);
        return [];
      }
      if (isSameFailure(fields, ledgerFields)) return [];
    }
    return names.filter((_, index) => (fields[index] ?? null) !== (ledgerFields[index] ?? null));
  }
}

function byOffset(lines: readonly StoredRowLine[]): Map<number, StoredRowLine[]> {
  const linesByOffset = new Map<number, StoredRowLine[]>();
  for (const line of [...lines].sort((a, b) => a.offset - b.offset)) {
    const group = linesByOffset.get(line.offset);
    if (group === undefined) linesByOffset.set(line.offset, [line]);
    else group.push(line);
  }
  return linesByOffset;
}
