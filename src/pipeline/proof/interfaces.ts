/**
 * Which interfaces the stream asks for: of those that are wanted the ones that the participant knows, because a request
 * that names another one is refused whole. What it comes to know later is taken up beside the stream.
 */
import { interfacesNamed } from '../../model/interface-presets.ts';
import { knownInterfaces } from '../../ledger/api/known-interfaces.ts';
import type { WantedInterface } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { SinkSession } from '../ports/sink.ts';

/**
 * The interfaces of this session, sorted; notes those that are wanted. A stream that was never begun begins with what the
 * participant knows now; one that has begun keeps what it was begun with.
 */
export async function interfacesInForce(
  parts: PipelineParts,
  session: SinkSession,
  ledgerEnd: number,
): Promise<readonly string[]> {
  const wanted = interfacesNamed(parts.wantedInterfaces);
  const stored = new Map(session.interfaces.map(({ id, completeFrom }) => [id, completeFrom]));
  if (wanted.length + stored.size === 0) return [];
  const isNew = !session.state.seeded && stored.size === 0;
  const known = new Set(isNew ? await knownInterfaces(parts.ledger, parts.filter, wanted, ledgerEnd) : []);
  const noted = wanted.map((id): WantedInterface => ({
    id,
    completeFrom: known.has(id) ? 0 : (stored.get(id) ?? null),
  }));
  if (noted.length !== stored.size || noted.some(({ id }) => !stored.has(id))) await session.noteInterfaces(noted);
  parts.observer.interfacesWanted(noted);
  return noted.filter(({ completeFrom }) => completeFrom !== null).map(({ id }) => id);
}

/** The same parts, asking for views of these interfaces. */
export function withInterfaces(parts: PipelineParts, interfaces: readonly string[]): PipelineParts {
  return { ...parts, filter: { ...parts.filter, interfaces } };
}
