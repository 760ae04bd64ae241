/**
 * `explain` on recorded streams of a participant: the trees of recorded frames, and contracts that moved between
 * synchronizers.
 */
import { expect } from 'vitest';
import type { Frame as RecordedFrame } from './recording.ts';
import type { Run } from './run.ts';

interface SentEvent {
  readonly nodeId: number;
  readonly contractId: string;
  readonly lastDescendantNodeId?: number;
  readonly consuming?: boolean;
}

interface Frame {
  readonly update: {
    readonly Transaction?: {
      readonly value: { readonly offset: number; readonly events: readonly Record<string, SentEvent>[] };
    };
  };
}

/** Node id, depth and parent of each event, computed from the node ranges in the frame. */
function treeOf(events: readonly SentEvent[]): readonly (readonly [number, number, number | null])[] {
  return events
    .toSorted((a, b) => a.nodeId - b.nodeId)
    .map(({ nodeId }) => {
      const enclosingEvents = events.filter(
        (candidate) => candidate.nodeId < nodeId && (candidate.lastDescendantNodeId ?? -1) >= nodeId,
      );
      const parent = enclosingEvents.reduce<number | null>(
        (deepestNode, candidate) => Math.max(deepestNode ?? -1, candidate.nodeId),
        null,
      );
      return [nodeId, enclosingEvents.length, parent];
    });
}

/** Expects that `explore.explain_update` returns the tree of each transaction as it was sent. */
export async function expectTreesAsSent({ client }: Run, frames: readonly RecordedFrame[]): Promise<void> {
  const { rows } = await client.query<{
    at: number;
    tree: readonly (readonly [number, number, number | null])[] | null;
  }>(
    `select u."offset"::int as at, t.tree
       from explore.updates u
      cross join lateral (select json_agg(json_build_array(e.node_id, e.depth, e.parent_node_id) order by e.node_id) as tree
                            from explore.explain_update(u."offset") e) t
      where u.kind = 'transaction' order by 1`,
  );
  const sentEvents = frames
    .map(({ text }) => (JSON.parse(text) as Frame).update.Transaction?.value)
    .filter((value) => value !== undefined)
    .map(({ offset, events }) => ({ at: offset, tree: treeOf(events.flatMap((event) => Object.values(event))) }))
    .filter(({ tree }) => tree.length > 0);
  expect(rows.filter(({ tree }) => tree !== null)).toEqual(sentEvents);
  expect(sentEvents.length).toBeGreaterThan(20);
}

/**
 * Expects that `explore.explain_contract` follows each reassigned contract from one synchronizer to the next.
 * @param minimumCount minimum number of such contracts
 */
export async function expectLivesAcrossSynchronizers({ client }: Run, minimumCount: number): Promise<void> {
  const { rows } = await client.query<{
    id: string;
    life: readonly (readonly [string, string, string | null])[];
  }>(
    `select r.contract_id as id, l.life
       from (select distinct contract_id from explore.reassignments where not incomplete) r
      cross join lateral (
              select json_agg(json_build_array(e.event_type, e.synchronizer_id, e.target) order by e."offset") as life
                from explore.explain_contract(r.contract_id) e
               where e.event_type in ('created', 'seeded', 'assigned', 'unassigned', 'archived')) l`,
  );
  expect(rows.length).toBeGreaterThanOrEqual(minimumCount);
  for (const { id, life: lifeSteps } of rows) {
    let currentSynchronizer: string | null = null;
    for (const [event, synchronizer, target] of lifeSteps) {
      // A contract is archived or unassigned on its current synchronizer.
      if (currentSynchronizer !== null && event !== 'assigned')
        expect([id, synchronizer]).toEqual([id, currentSynchronizer]);
      currentSynchronizer = event === 'unassigned' ? target : synchronizer;
    }
  }
}
