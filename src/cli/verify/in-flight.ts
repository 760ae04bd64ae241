/** Reassignments that the ledger lists as in flight, against the halves that a seed stored as such. */
import { comparedFields, type ComparedRow } from '../../model/compared-rows.ts';
import type { PlainInFlight } from '../../ledger/frames/plain-active.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { storedHalves, type StoredHalf } from '../../store/verify/stored-in-flight.ts';
import { fieldDigests } from './bucket-sums.ts';
import type { Finding } from './result.ts';

/** Few are ever in flight; more than these are not looked at. */
const examinedHalves = 10_000;

export class InFlight {
  readonly #halves: PlainInFlight[] = [];
  #left = 0;

  add(half: PlainInFlight): void {
    if (this.#halves.length < examinedHalves) this.#halves.push(half);
    else this.#left += 1;
  }

  get note(): string | undefined {
    if (this.#left === 0) return undefined;
    return `${String(this.#left)} of the reassignments in flight were not looked at, beyond the first ${String(examinedHalves)}`;
  }

  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    if (this.#halves.length === 0) return [];
    const activated = this.#halves.map(({ contract }) => contract?.offset ?? null);
    const rows = await storedHalves(client, this.#halves, activated);
    const stored = new Map(rows.map((row) => [keyOf(row), row]));
    return this.#halves.flatMap((half) => differencesOf(half, stored.get(keyOf(half))));
  }
}

function keyOf({ half, contractId, offset }: Pick<StoredHalf, 'half' | 'contractId' | 'offset'>): string {
  return `${half} ${contractId} ${String(offset)}`;
}

function differencesOf(sent: PlainInFlight, stored: StoredHalf | undefined): readonly Finding[] {
  const { contractId, offset, row, contract } = sent;
  const named = { contractId, offset, row: row.key };
  if (stored === undefined) return [{ what: 'missing', ...named }];
  const fields = [
    ...differing(row, stored.redacted, stored.digests),
    // The list does not say how often a contract on its way was reassigned before.
    ...(contract === undefined ? [] : differing(contract.row, stored.redacted, stored.contract)).filter(
      (name) => name !== 'reassignment_counter',
    ),
  ];
  return fields.length === 0 ? [] : [{ what: 'different', ...named, fields }];
}

function differing(row: ComparedRow, redacted: boolean, stored: readonly string[] | undefined): readonly string[] {
  if (stored === undefined || stored.length !== row.fields.length) return [];
  const digests = fieldDigests(row, redacted);
  const names: readonly string[] = comparedFields[row.kind];
  return names.filter((_, index) => digests[index] !== stored[index]);
}
