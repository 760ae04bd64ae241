/** State of the planned steps: their random numbers, and the contracts that later steps name. */
import type { Command } from '../../ledger/commands.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { Random, SavedRandom } from '../../wire/random.ts';
import { formatNumeric } from '../../wire/values.ts';
import type { Transaction } from '../../wire/wire.ts';
import type { MarketState, SubmissionOptions, SubmissionSource } from '../market/market-state.ts';
import { amulet } from '../templates/instruments.ts';
import { contextOf, emptyMetadata } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';
import type { PlannedStep } from './step.ts';

const second = 1_000_000;

/** A plan as stored in a snapshot. */
export interface SavedPlan {
  readonly random: SavedRandom;
  readonly submissions: number;
  readonly contracts: Map<string, string>;
}

/** The amount that a step needs. `key` names it. */
interface FundsOfStep {
  readonly key: string;
  readonly owner: string;
  readonly units: bigint;
}

export class Plan {
  readonly state: MarketState;
  readonly #source: SubmissionSource;
  #contracts = new Map<string, string>();

  constructor(state: MarketState, random: Random) {
    this.state = state;
    this.#source = { random, name: 'plan', submissions: 0 };
  }

  save(): SavedPlan {
    const { random, submissions } = this.#source;
    return { random: random.save(), submissions, contracts: this.#contracts };
  }

  load({ random, submissions, contracts }: SavedPlan): void {
    this.#source.random.load(random);
    this.#source.submissions = submissions;
    this.#contracts = contracts;
  }

  /** The contract that a step named, if it is still active. */
  find(key: string): string | undefined {
    const contractId = this.#contracts.get(key);
    return contractId === undefined || this.state.payload(contractId) === undefined ? undefined : contractId;
  }

  keep(key: string, contractId: string): void {
    if (contractId === '') this.#contracts.delete(key);
    else this.#contracts.set(key, contractId);
  }

  later(at: number, step: PlannedStep): void {
    this.state.agenda.add(at, { what: 'planned', step });
  }

  submit(actAs: readonly string[], command: Command, at: number, workflowId = ''): Transaction {
    return this.state.submit(actAs, [command], { ...this.options(at), workflowId });
  }

  /** Options of a submission of this plan. */
  options(at: number): SubmissionOptions {
    return { at, source: this.#source };
  }

  /**
   * The Amulet for a step. Without it, mints it in this update, and repeats the step a second later.
   * @returns the contract id, or undefined if it was minted now
   */
  fundsFor(step: PlannedStep & FundsOfStep, at: number): string | undefined {
    const key = `${step.key} funds`;
    const funds = this.find(key);
    if (funds !== undefined) return funds;
    const { people } = this.state;
    const openRound = this.state.rounds.at(-1)?.contractId ?? '';
    const argument = { receiver: step.owner, amount: formatNumeric(step.units), openRound };
    const contractId = this.state.single(names.amuletRules);
    const mint: Command = { kind: 'exercise', contractId, choice: 'AmuletRules_Mint', argument };
    this.keep(key, this.state.made(this.submit([people.dso], mint, at), amulet.holding));
    this.later(at + second, step);
    return undefined;
  }

  /** Extra arguments with the contract that Amulet requires for locks, and with metadata. */
  extraArgs(meta: JsonObject = emptyMetadata): JsonObject {
    return { ...contextOf({ 'external-party-config-state': this.state.single(names.externalPartyConfig) }), meta };
  }
}
