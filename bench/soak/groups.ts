/** Groups of SSE clients. All clients of a group send the same selection, so they must receive the same events. */

export interface ClientGroup {
  readonly name: string;
  /** Parameters of `/changes`. */
  readonly eventType?: string;
  readonly template?: string;
  readonly clients: number;
}

/** An event of the ledger, as far as selections need it. */
export interface LedgerEvent {
  readonly offset: number;
  readonly node: number;
  /** `event_type` of `explore.events`. */
  readonly type: string;
  /** `package-name:Module:Entity`; empty for topology events. */
  readonly template: string;
}

export function isSelected(group: Pick<ClientGroup, 'eventType' | 'template'>, event: LedgerEvent): boolean {
  return (
    (group.eventType === undefined || group.eventType === event.type) &&
    (group.template === undefined || group.template === event.template)
  );
}

/**
 * Number of templates that have a group each, beginning with the most frequent one. With more than eight selections,
 * reads of `/changes` rest while updates arrive, and on a busy machine clients of all events fall behind.
 */
const maxTemplates = 4;
/** Clients of all events and of one event type; the others select one template. */
const shares = { all: 0.04, eachType: 0.06 } as const;

/** Divides the clients into groups: all events, each frequent type of events, and each frequent template. */
export function groupsOf(clients: number, templates: readonly string[]): readonly ClientGroup[] {
  const [all, eachType] = [
    Math.max(1, Math.round(clients * shares.all)),
    Math.max(1, Math.round(clients * shares.eachType)),
  ];
  const typed = ['created', 'archived', 'exercised'].map((type) => ({
    name: type,
    eventType: type,
    clients: eachType,
  }));
  const chosen = templates.slice(0, maxTemplates);
  const rest = Math.max(0, clients - all - typed.length * eachType);
  const byTemplate = chosen.map((template, index) => ({
    name: template,
    template,
    clients: Math.floor((rest + index) / chosen.length),
  }));
  return [{ name: 'all', clients: all }, ...typed, ...byTemplate];
}

/** A digest of a sequence of event ids. Two sequences with the same digest have the same ids in the same order. */
export interface SequenceDigest {
  count: number;
  first: number;
  second: number;
}

export function emptyDigest(): SequenceDigest {
  return { count: 0, first: 17, second: 29 };
}

/** Appends the id `OFFSET-NODE`. */
export function addToDigest(digest: SequenceDigest, offset: number, node: number): void {
  digest.count += 1;
  digest.first = (Math.imul(digest.first, 31) + Math.imul(offset, 1_000_003) + node) | 0;
  digest.second = (Math.imul(digest.second, 65_599) ^ (offset + Math.imul(node, 40_503))) | 0;
}

export function isSameSequence(one: SequenceDigest, other: SequenceDigest): boolean {
  return one.count === other.count && one.first === other.first && one.second === other.second;
}
