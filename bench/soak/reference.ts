/**
 * The events of the ledger, read from the ledger itself, without the indexer and its database. Clients and webhooks are
 * compared with them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  addToDigest,
  emptyDigest,
  isSelected,
  type ClientGroup,
  type LedgerEvent,
  type SequenceDigest,
} from './groups.ts';
import { newToken } from './tokens.ts';

const pollMs = 1_000;
/** The largest page that a participant sends by default. */
const pageUpdates = 200;
const requestLimitMs = 20_000;

/** The position of the reference, as kept between pieces. */
export interface SavedReference {
  readonly offset: number;
  readonly updates: number;
  /** Number of events by type, since the first offset of the ledger. */
  readonly types: Readonly<Record<string, number>>;
  /** By group: the events after the offset at which the clients began. */
  readonly digests: Readonly<Record<string, SequenceDigest>>;
}

interface WireUpdate {
  readonly offset: number;
  readonly events?: readonly Readonly<Record<string, WireEvent>>[];
}

interface WireEvent {
  readonly nodeId?: number;
  readonly templateId?: string;
  readonly packageName?: string;
  readonly consuming?: boolean;
  /** The create in an assignment. */
  readonly createdEvent?: WireEvent;
}

const eventFormat = {
  filtersForAnyParty: {
    cumulative: [{ identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: false } } } }],
  },
  verbose: false,
};
const updateFormat = {
  includeTransactions: { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
  includeReassignments: eventFormat,
  includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: [] } },
};

async function request(url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${newToken()}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(requestLimitMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url} returned ${String(response.status)}: ${await response.text()}`);
  return response.json();
}

export async function ledgerEndOf(ledgerUrl: string): Promise<number> {
  return ((await request(`${ledgerUrl}/v2/state/ledger-end`)) as { offset: number }).offset;
}

/** The updates after `begin`, at most a page of them, each with its events. */
export async function readUpdates(
  ledgerUrl: string,
  begin: number,
  end: number,
): Promise<readonly { readonly offset: number; readonly events: readonly LedgerEvent[] }[]> {
  const url = `${ledgerUrl}/v2/updates?limit=${String(pageUpdates)}&stream_idle_timeout_ms=200`;
  const body = { beginExclusive: begin, endInclusive: end, updateFormat };
  const list = (await request(url, body)) as { update: Readonly<Record<string, { value: WireUpdate }>> }[];
  return list.flatMap(({ update }) => {
    const [kind = '', content] = Object.entries(update)[0] ?? [];
    if (content === undefined || kind === 'OffsetCheckpoint') return [];
    const { offset, events = [] } = content.value;
    return [{ offset, events: events.map((event, index) => eventOf(offset, event, index)) }];
  });
}

function eventOf(
  offset: number,
  event: Readonly<Record<string, WireEvent | { value: WireEvent }>>,
  index: number,
): LedgerEvent {
  const [kind = '', content = {}] = Object.entries(event)[0] ?? [];
  const wire: WireEvent = 'value' in content ? content.value : content;
  const type = typeOf(kind, wire);
  const { templateId = '', packageName = '' } = wire.createdEvent ?? wire;
  const node = type === 'topology' ? index : (wire.nodeId ?? wire.createdEvent?.nodeId ?? 0);
  return {
    offset,
    node,
    type,
    template: templateId === '' ? '' : `${packageName}${templateId.slice(templateId.indexOf(':'))}`,
  };
}

function typeOf(kind: string, { consuming }: WireEvent): string {
  if (kind.includes('Created')) return 'created';
  if (kind.includes('Exercised')) return consuming === true ? 'archived' : 'exercised';
  if (kind.includes('Unassigned')) return 'unassigned';
  if (kind.includes('Assign')) return 'assigned';
  return 'topology';
}

export interface ReferenceOptions {
  readonly ledgerUrl: string;
  readonly groups: readonly ClientGroup[];
  readonly saved: SavedReference;
  /** Offset after which clients and webhook began. */
  readonly after: number;
  /** Receives each event after that offset. */
  readonly onEvent: (event: LedgerEvent) => void;
}

/** Follows the ledger until it is stopped. */
export class Reference {
  readonly #options: ReferenceOptions;
  readonly #digests: Record<string, SequenceDigest>;
  readonly #types: Record<string, number>;
  #offset: number;
  #updates: number;
  #isStopping = false;
  readonly #done: Promise<void>;
  /** Number of requests that failed, because the ledger was restarting. */
  failures = 0;

  constructor(options: ReferenceOptions) {
    this.#options = options;
    const { offset, updates, types, digests } = options.saved;
    this.#types = { ...types };
    this.#offset = offset;
    this.#updates = updates;
    this.#digests = Object.fromEntries(
      options.groups.map(({ name }) => [name, { ...(digests[name] ?? emptyDigest()) }]),
    );
    this.#done = this.#run();
  }

  get updates(): number {
    return this.#updates;
  }

  get offset(): number {
    return this.#offset;
  }

  /** Reads up to `end`, and stops. */
  async finish(end: number): Promise<SavedReference> {
    this.#isStopping = true;
    await this.#done;
    while (this.#offset < end) await this.#readPage();
    return { offset: this.#offset, updates: this.#updates, types: this.#types, digests: this.#digests };
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const isFull = await this.#readPage().catch(() => {
        this.failures += 1;
        return false;
      });
      if (!isFull) await sleep(pollMs);
    }
  }

  /** @returns whether there may be more */
  async #readPage(): Promise<boolean> {
    const { ledgerUrl } = this.#options;
    const end = await ledgerEndOf(ledgerUrl);
    if (end <= this.#offset) return false;
    const updates = await readUpdates(ledgerUrl, this.#offset, end);
    for (const { events } of updates) {
      for (const event of [...events].sort((one, other) => one.node - other.node)) this.#add(event);
    }
    this.#updates += updates.length;
    const isFull = updates.length >= pageUpdates;
    this.#offset = isFull ? (updates.at(-1)?.offset ?? end) : end;
    return isFull;
  }

  #add(event: LedgerEvent): void {
    const { groups, after, onEvent } = this.#options;
    const { offset, node, type } = event;
    this.#types[type] = (this.#types[type] ?? 0) + 1;
    if (offset <= after) return;
    for (const group of groups) {
      const digest = this.#digests[group.name];
      if (digest !== undefined && isSelected(group, event)) addToDigest(digest, offset, node);
    }
    onEvent(event);
  }
}
