/** Events of a transaction as JSON, with the fields that participants send. */
import { parties, payload } from './history-content.ts';
import { RawJson, type Json } from './json-text.ts';
import type { SeededRandom } from './random.ts';

export type Fields = Record<string, Json>;

export interface Template {
  readonly id: string;
  readonly packageName: string;
}

const packageOne = 'a1'.repeat(32);
const packageTwo = 'b2'.repeat(32);
/** One template exists in two package versions, so that an archive may name another package than the create. */
export const templates: readonly Template[] = [
  { id: `${packageOne}:Chaos.Iou:Iou`, packageName: 'chaos' },
  { id: `${packageTwo}:Chaos.Iou:Iou`, packageName: 'chaos' },
  { id: `${packageOne}:Chaos.Deep.Module:Swap`, packageName: 'chaos' },
];
const interfaceId = `${'c3'.repeat(32)}:Chaos.Api:Holding`;

/** Writes the events of one update at a time. */
export class EventWriter {
  readonly #random: SeededRandom;
  /** Offset and time (microseconds since 1970) of the current update. */
  offset = 0;
  micros = Date.UTC(2026, 0, 5, 8) * 1000;
  #node = 0;
  #contracts = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Begins the next update. */
  next(offset: number, micros: number): void {
    this.offset = offset;
    this.micros = micros;
    this.#node = 0;
  }

  /** The highest node id of the current update. */
  get lastNode(): number {
    return Math.max(0, this.#node - 1);
  }

  #nextNode(): number {
    const node = this.#node;
    this.#node += this.#random.chance(0.2) ? 2 : 1;
    return node;
  }

  /** A contract id that was not used before. */
  contractId(): string {
    this.#contracts += 1;
    return `00${this.#random.hex(64)}ca${String(this.#contracts)}`;
  }

  createdEvent(contractId: string, template: Template, acsDelta: boolean): Fields {
    const random = this.#random;
    const signatories = [random.pick(parties)];
    const observers = [random.pick(parties)].filter((party) => !signatories.includes(party));
    return {
      offset: this.offset,
      nodeId: this.#nextNode(),
      contractId,
      templateId: template.id,
      contractKey: random.chance(0.1) ? { _1: 'key', _2: payload(random, 'key') } : null,
      contractKeyHash: '',
      createArgument: payload(random, 'create'),
      createdEventBlob: '',
      interfaceViews: random.chance(0.2) ? [this.#view()] : [],
      witnessParties: [...signatories, ...observers],
      signatories,
      observers,
      createdAt: isoOf(this.micros - 1_500),
      packageName: template.packageName,
      representativePackageId: template.id.slice(0, 64),
      acsDelta,
    };
  }

  #view(): Json {
    const isFailed = this.#random.chance(0.3);
    return {
      interfaceId,
      viewStatus: isFailed
        ? { code: 9, message: 'NO_VETTED(9,0): no package', details: [] }
        : { code: 0, message: '', details: [] },
      viewValue: isFailed ? null : payload(this.#random, 'view'),
      implementationPackageId: isFailed ? null : packageOne,
    };
  }

  exercisedEvent(contractId: string, template: Template, consuming: boolean, acsDelta: boolean): Fields {
    const random = this.#random;
    const onInterface = random.chance(0.2);
    return {
      offset: this.offset,
      nodeId: this.#nextNode(),
      contractId,
      templateId: template.id,
      interfaceId: onInterface ? interfaceId : null,
      choice: consuming ? random.pick(['Archive', 'Transfer']) : 'Look',
      choiceArgument: payload(random, 'argument'),
      actingParties: [random.pick(parties)],
      consuming,
      witnessParties: [random.pick(parties)],
      lastDescendantNodeId: 0,
      exerciseResult: random.chance(0.3) ? new RawJson('{}') : payload(random, 'result'),
      packageName: template.packageName,
      implementedInterfaces: onInterface ? [interfaceId] : [],
      acsDelta: consuming && acsDelta,
    };
  }
}

/** ISO 8601 with 0, 3 or 6 fractional digits: the fewest that represent the time exactly. */
export function isoOf(micros: number): string {
  const millis = new Date(Math.floor(micros / 1000)).toISOString();
  const remainingMicros = micros % 1000;
  if (remainingMicros !== 0) return `${millis.slice(0, -1)}${String(remainingMicros).padStart(3, '0')}Z`;
  return millis.endsWith('.000Z') ? `${millis.slice(0, -5)}Z` : millis;
}
