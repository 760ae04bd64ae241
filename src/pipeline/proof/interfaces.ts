/**
 * Chooses the interfaces that the stream requests: of the configured ones, those that the participant knows. A request
 * that names an unknown interface is refused completely. Interfaces that the participant learns later are backfilled.
 */
import { interfacesNamed } from '../../config/interface-presets.ts';
import { knownInterfaces } from '../../ledger/api/known-interfaces.ts';
import type { RequestedInterface } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { SinkSession } from '../ports/sink.ts';

/**
 * The interfaces of this session, by id; stores the configured ones. A new stream begins with those that the
 * participant knows now; an existing stream keeps its own.
 * `isInterfaceRefused`: the participant has refused one of them. Interfaces that it does not know are then omitted.
 */
export async function interfacesInForce(
  parts: PipelineParts,
  session: SinkSession,
  { ledgerEnd, isInterfaceRefused }: { readonly ledgerEnd: number; readonly isInterfaceRefused: boolean },
): Promise<readonly RequestedInterface[]> {
  const ids = interfacesNamed(parts.wantedInterfaces);
  const stored = new Map(session.interfaces.map((one) => [one.id, one]));
  if (ids.length + stored.size === 0) return [];
  const isNew = !session.state.seeded && stored.size === 0;
  const previous = ids.map((id) => stored.get(id) ?? waitingInterface(id));
  const current =
    isNew || isInterfaceRefused
      ? withUpdatedStates(previous, await knownInterfaces(parts.ledger, parts.filter, ids, ledgerEnd), {
          ledgerEnd,
          isNew,
        })
      : previous;
  if (current.length !== stored.size || current.some((one) => !isStored(one, stored))) {
    await session.noteInterfaces(current);
  }
  parts.observers.interfaces.interfacesRequested(current);
  return current;
}

function waitingInterface(id: string): RequestedInterface {
  return { id, state: 'waiting', completeFrom: null, unknownAt: null };
}

function isStored(one: RequestedInterface, stored: ReadonlyMap<string, RequestedInterface>): boolean {
  const { state, completeFrom, unknownAt } = stored.get(one.id) ?? {};
  return state === one.state && completeFrom === one.completeFrom && unknownAt === one.unknownAt;
}

/**
 * The interfaces with states updated from the ids that the participant knows.
 * @param isNew whether the stream begins with them
 */
export function withUpdatedStates(
  interfaces: readonly RequestedInterface[],
  known: readonly string[],
  { ledgerEnd, isNew }: { readonly ledgerEnd: number; readonly isNew: boolean },
): readonly RequestedInterface[] {
  return interfaces.map((one) => {
    if (!known.includes(one.id)) return { ...one, state: 'waiting', unknownAt: ledgerEnd };
    if (isNew) return { ...one, state: 'followed', completeFrom: 0 };
    return one.state === 'followed' ? one : { ...one, state: 'backfilling' };
  });
}

/** The same parts, with requests for views of these interfaces. */
export function withInterfaces(parts: PipelineParts, interfaces: readonly string[]): PipelineParts {
  return { ...parts, filter: { ...parts.filter, interfaces } };
}
