/**
 * Contracts that a batch activates and deactivates. Activations that end within the same batch are completed here, so
 * that at most one end per contract and synchronizer remains for the database. They are kept as arrays of numbers and
 * bytes, not as objects: a batch exists long enough for the garbage collector to treat every object as long-lived.
 */
import type { Microseconds } from './binary-timestamp.ts';
import { ContractTable } from './contract-table.ts';
import type { Row } from './tables.ts';
import type { TextOrUtf8, Utf8 } from './utf8.ts';

/** The end of an activation, by an archive or an unassign. */
export interface ContractEnd {
  readonly offset: number;
  /** Node of the archive; null for an unassign. */
  readonly nodeId: number | null;
  readonly by: 'archive' | 'reassignment';
  /** Effective time of the archive, or record time of the unassign; null if not known. */
  readonly at: Microseconds | null;
}

export interface Deactivation {
  readonly contractId: Utf8;
  readonly synchronizerPk: number;
  readonly end: ContractEnd;
}

/** Number of activations of a template within a batch, and how many of them ended within it. */
export interface TemplateCount {
  readonly templatePk: number;
  activated: number;
  deactivated: number;
}

/** An activation: its row of table `contracts`, and further data. */
export interface Activated {
  readonly contractId: TextOrUtf8;
  readonly offset: number;
  readonly nodeId: number;
  readonly templatePk: number;
  readonly synchronizerPk: number;
  readonly partiesPk: number;
}

/** The "char" code in table `ended` for how an activation ended. */
export const endCodes = { archive: 'a', reassignment: 'r' } as const;

/** Maximum number of contracts whose memory is kept for the next batch. */
const maxKeptContracts = 16_384;

/**
 * Collects activations and their ends. Contract ids are copied, because their frames may be released. Can be used again
 * after `clear`.
 */
export class Lifetimes {
  #contracts = new ContractTable();
  /** By contract: position of its activation that has not ended, plus 1; 0 if there is none. */
  #open: number[] = [];
  /** By contract: the first end of an activation that did not begin in this batch. */
  #firstEnds = new ContractEnds();
  #activations = new Activations();
  #repeated = false;

  clear(): void {
    const large = this.#contracts.size > maxKeptContracts || this.#activations.size > maxKeptContracts;
    this.#repeated = false;
    this.#contracts = large ? new ContractTable() : this.#contracts;
    this.#contracts.clear();
    this.#activations = large ? new Activations() : this.#activations;
    this.#activations.size = 0;
    if (!large) return;
    this.#open = [];
    this.#firstEnds = new ContractEnds();
  }

  /** Whether a contract was activated twice at one offset, which no valid update does. */
  get repeated(): boolean {
    return this.#repeated;
  }

  activate(activation: Activated): void {
    const contract = this.#contract(activation.contractId, activation.synchronizerPk);
    const openIndex = this.#open[contract] ?? 0;
    if (openIndex > 0 && this.#activations.offsets[openIndex - 1] === activation.offset) this.#repeated = true;
    this.#open[contract] = this.#activations.add(contract, activation);
  }

  /** Ends an activation. The first end counts: a second one belongs to a contract that was never seen active. */
  deactivate(contractId: TextOrUtf8, synchronizerPk: number, end: ContractEnd): void {
    const contract = this.#contract(contractId, synchronizerPk);
    const openIndex = this.#open[contract] ?? 0;
    if (openIndex > 0) {
      this.#activations.ends.set(openIndex - 1, end);
      this.#open[contract] = 0;
    } else if (!this.#firstEnds.has(contract)) this.#firstEnds.set(contract, end);
  }

  #contract(contractId: TextOrUtf8, synchronizerPk: number): number {
    const { size } = this.#contracts;
    const contract = this.#contracts.of(contractId, synchronizerPk);
    if (contract < size) return contract;
    this.#open[contract] = 0;
    this.#firstEnds.clear(contract);
    return contract;
  }

  /** Rows of table `live`. */
  *live(): Generator<Row> {
    const { size, contracts, offsets, nodeIds, templatePks, partiesPks, ends } = this.#activations;
    for (let index = 0; index < size; index += 1) {
      if (ends.has(index)) continue;
      const contract = contracts[index] ?? 0;
      yield [
        offsets[index] ?? 0,
        nodeIds[index] ?? 0,
        templatePks[index] ?? 0,
        this.#contracts.synchronizerPk(contract),
        partiesPks[index] ?? 0,
        this.#contracts.id(contract),
      ];
    }
  }

  /** Rows of table `ended`. */
  *ended(): Generator<Row> {
    const { size, contracts, offsets, nodeIds, templatePks, partiesPks, ends } = this.#activations;
    for (let index = 0; index < size; index += 1) {
      const end = ends.at(index);
      if (end === undefined) continue;
      const contract = contracts[index] ?? 0;
      const offset = offsets[index] ?? 0;
      yield [
        offset,
        end.offset,
        nodeIds[index] ?? 0,
        templatePks[index] ?? 0,
        this.#contracts.synchronizerPk(contract),
        partiesPks[index] ?? 0,
        lifetimeClass(offset, end.offset),
        endCodes[end.by],
        this.#contracts.id(contract),
        end.at,
        end.nodeId,
      ];
    }
  }

  /** Ids of the contracts that were activated. */
  contractIds(): readonly string[] {
    const { size, contracts } = this.#activations;
    return contracts.slice(0, size).map((contract) => this.#contracts.id(contract).toString());
  }

  /** Number of these rows by template. */
  counts(): readonly TemplateCount[] {
    const counts = new Map<number, TemplateCount>();
    const { size, templatePks, ends } = this.#activations;
    for (let index = 0; index < size; index += 1) {
      const templatePk = templatePks[index] ?? 0;
      let count = counts.get(templatePk);
      if (count === undefined) counts.set(templatePk, (count = { templatePk, activated: 0, deactivated: 0 }));
      count.activated += 1;
      if (ends.has(index)) count.deactivated += 1;
    }
    return [...counts.values()];
  }

  /** Ends of activations that were stored with earlier batches. */
  *deactivations(): Generator<Deactivation> {
    for (let contract = 0; contract < this.#contracts.size; contract += 1) {
      const end = this.#firstEnds.at(contract);
      if (end === undefined) continue;
      yield { contractId: this.#contracts.id(contract), synchronizerPk: this.#contracts.synchronizerPk(contract), end };
    }
  }
}

/** Activations in order of arrival. Each array contains one field of all of them. */
class Activations {
  size = 0;
  readonly contracts: number[] = [];
  readonly offsets: number[] = [];
  readonly nodeIds: number[] = [];
  readonly templatePks: number[] = [];
  readonly partiesPks: number[] = [];
  readonly ends = new ContractEnds();

  /** Adds an activation. @returns number of activations, including this one */
  add(contract: number, { offset, nodeId, templatePk, partiesPk }: Activated): number {
    const index = this.size;
    this.contracts[index] = contract;
    this.offsets[index] = offset;
    this.nodeIds[index] = nodeId;
    this.templatePks[index] = templatePk;
    this.partiesPks[index] = partiesPk;
    this.ends.clear(index);
    this.size = index + 1;
    return this.size;
  }
}

/** Node id of an end without a node. */
const missingNode = -1;

/** Ends by number (from 0), at most one for each. */
class ContractEnds {
  /** 0 if there is no end, because no update has offset 0. */
  readonly #offsets: number[] = [];
  readonly #nodeIds: number[] = [];
  readonly #byArchive: boolean[] = [];
  /** NaN if the time is not known, or exceeds 2^53. */
  readonly #times: number[] = [];
  /** Times that exceed 2^53. */
  readonly #largeTimes = new Map<number, bigint>();

  clear(index: number): void {
    this.#offsets[index] = 0;
  }

  has(index: number): boolean {
    return this.#offsets[index] !== 0;
  }

  set(index: number, { offset, nodeId, by: endKind, at: endTime }: ContractEnd): void {
    this.#offsets[index] = offset;
    this.#nodeIds[index] = nodeId ?? missingNode;
    this.#byArchive[index] = endKind === 'archive';
    this.#times[index] = typeof endTime === 'number' ? endTime : NaN;
    if (typeof endTime === 'bigint') this.#largeTimes.set(index, endTime);
    else if (this.#largeTimes.size > 0) this.#largeTimes.delete(index);
  }

  at(index: number): ContractEnd | undefined {
    const offset = this.#offsets[index] ?? 0;
    if (offset === 0) return undefined;
    const nodeId = this.#nodeIds[index] ?? missingNode;
    const time = this.#times[index] ?? NaN;
    return {
      offset,
      nodeId: nodeId === missingNode ? null : nodeId,
      by: this.#byArchive[index] === true ? 'archive' : 'reassignment',
      at: Number.isNaN(time) ? (this.#largeTimes.get(index) ?? null) : time,
    };
  }
}

/** Row of table `ended` for a create that never was active for the reading parties. */
export function witnessedContractRow({
  offset,
  nodeId,
  templatePk,
  synchronizerPk,
  partiesPk,
  contractId,
}: Activated): Row {
  return [offset, offset, nodeId, templatePk, synchronizerPk, partiesPk, -1, 'w', contractId, null, null];
}

/** The power of two in the length of a lifetime, as computed by the SQL function lifetime_class. */
export function lifetimeClass(activatedOffset: number, endedOffset: number): number {
  const length = endedOffset - activatedOffset + 1;
  return length < 2 ** 32 ? 31 - Math.clz32(length) : 63 - Math.clz32(Math.floor(length / 2 ** 32));
}
