/**
 * Random updates with costs, and what a reader may know about them: computed from the frames that are written, by the
 * rules of the ledger, without SQL.
 */
import { createHash } from 'node:crypto';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import * as frames from '../../support/frames.ts';
import type { ReadDatabase } from '../read-database.ts';
import { exercisedEvent, foreign, made, newerPackageId, olderPackageId } from './network-frames.ts';

export const parties = ['Ann::1220', 'Ben::1220', 'Cyd::1220'] as const;
export const dayMs = 86_400_000;
export const beginning = Date.UTC(2026, 7, 1, 6);
const packages = [
  { packageId: olderPackageId, packageName: 'splice-amulet' },
  { packageId: newerPackageId, packageName: 'splice-amulet' },
  { packageId: foreign, packageName: 'other-app' },
] as const;

interface CostEvent {
  readonly packageName: string;
  readonly templateFqn: string;
  /** Null for a create. */
  readonly choice: string | null;
  readonly seers: readonly string[];
}

/** An update as the model knows it. */
export interface CostUpdate {
  readonly offset: number;
  readonly at: number;
  readonly bytes: number | null;
  readonly workflowId: string | null;
  readonly events: readonly CostEvent[];
  readonly completion: { readonly userId: string; readonly actAs: string } | undefined;
}

/** A cost as a reader sees it. */
export interface SeenCost {
  readonly offset: number;
  readonly at: number;
  readonly bytes: number;
  readonly package_name: string;
  readonly template_fqn: string;
  readonly choice: string | null;
  readonly workflow_id: string | null;
  readonly user_id: string | null;
}

export class CostHistory {
  readonly updates: CostUpdate[] = [];
  readonly #frames: frames.JsonRecord[] = [];

  /** Creates updates at random times of nine days. */
  constructor(seed: number, count: number) {
    const random = new Random(seed);
    const times = Array.from({ length: count }, () => beginning + random.between(0, 9 * dayMs)).sort((a, b) => a - b);
    for (const [index, at] of times.entries()) this.#add(random, index + 1, at);
  }

  #add(random: Random, offset: number, at: number): void {
    const chosen = <T>(list: readonly T[]): T => list[random.between(0, list.length - 1)] as T;
    const events = Array.from({ length: random.between(1, 3) }, (_, node) => {
      const source = chosen(packages);
      const entity = chosen(['Market:Offer', 'Market:Trade']);
      const choice = random.chance(0.3) ? null : chosen(['Settle', 'Cancel']);
      const seers = [...new Set([chosen(parties), chosen(parties)])];
      const [first = ''] = seers;
      const frame =
        choice === null
          ? made(`00c${String(offset)}n${String(node)}`, entity, {}, node, {
              ...source,
              signatories: [first],
              observers: seers.slice(1),
            })
          : exercisedEvent('00x', entity, choice, { ...source, by: seers, nodeId: node });
      const templateFqn = `${source.packageName}:Splice.${entity}`;
      return { frame, event: { packageName: source.packageName, templateFqn, choice, seers } };
    });
    const usual = 2_000 + 500 * (events[0]?.event.templateFqn.length ?? 0);
    const bytes = random.chance(0.1) ? null : usual + random.between(0, 3_000) * (random.chance(0.04) ? 10 : 1);
    const workflowId = random.chance(0.3) ? null : chosen(['settle', 'issue', 'Ä']);
    const completion = random.chance(0.7) ? { userId: chosen(['app', 'bot']), actAs: chosen(parties) } : undefined;
    this.updates.push({ offset, at, bytes, workflowId, events: events.map(({ event }) => event), completion });
    const time = new Date(at).toISOString();
    const facts = { effectiveAt: time, recordTime: time, paidTrafficCost: bytes, workflowId: workflowId ?? '' };
    this.#frames.push(
      frames.transaction(
        offset,
        events.map(({ frame }) => frame),
        { ...facts, commandId: `command-${String(offset)}` },
      ),
    );
  }

  async write(database: ReadDatabase): Promise<void> {
    await database.writeTogether(this.#frames);
    const keyOf = (party: string): string => createHash('sha256').update(party).digest('hex').slice(0, 32);
    for (const party of parties)
      await database.query(`insert into submitters values (decode($1, 'hex'), $2)`, [keyOf(party), party]);
    for (const { offset, completion } of this.updates) {
      if (completion === undefined) continue;
      await database.query(
        `insert into completions ("offset", status_code, submitters_key, user_id, command_id) values ($1, 0, decode($2, 'hex'), $3, $4)`,
        [offset, keyOf(completion.actAs), completion.userId, `command-${String(offset)}`],
      );
    }
  }

  /** Costs that a reader sees; undefined for a reader of everything. An update belongs to its first visible event. */
  seenBy(party: string | undefined): readonly SeenCost[] {
    return this.updates.flatMap(({ offset, at, bytes, workflowId, events, completion }) => {
      const first = events.find(({ seers }) => party === undefined || seers.includes(party));
      if (first === undefined || bytes === null) return [];
      const { packageName, templateFqn, choice } = first;
      const userId = party === undefined || completion?.actAs === party ? (completion?.userId ?? null) : null;
      const names = { package_name: packageName, template_fqn: templateFqn, choice, workflow_id: workflowId };
      return [{ offset, at, bytes, ...names, user_id: userId }];
    });
  }
}

export type Dimension = 'template' | 'choice' | 'workflow' | 'user' | 'app';

/** Columns of the group by dimension; others are null. */
const columnsOf: Readonly<Record<Dimension, readonly (keyof SeenCost)[]>> = {
  app: ['package_name'],
  template: ['package_name', 'template_fqn'],
  choice: ['package_name', 'template_fqn', 'choice'],
  workflow: ['workflow_id'],
  user: ['user_id'],
};

/** The smallest value that at least this share of the sorted values do not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Groups costs by day and dimension. */
export function distribution(costs: readonly SeenCost[], dimension: Dimension): readonly object[] {
  const groups = new Map<string, number[]>();
  for (const cost of costs) {
    const names = ['package_name', 'template_fqn', 'choice', 'workflow_id', 'user_id'] as const;
    const values = names.map((name) => (columnsOf[dimension].includes(name) ? cost[name] : null));
    const key = JSON.stringify([new Date(cost.at).toISOString().slice(0, 10), ...values]);
    groups.set(key, [...(groups.get(key) ?? []), cost.bytes]);
  }
  return [...groups].map(([key, list]) => {
    const sorted = list.sort((a, b) => a - b);
    return {
      key,
      updates: sorted.length,
      bytes: sorted.reduce((sum, value) => sum + value, 0),
      p50: percentile(sorted, 0.5),
      p75: percentile(sorted, 0.75),
      p95: percentile(sorted, 0.95),
      max: sorted.at(-1),
    };
  });
}

/** Updates of a range that cost more than 95 % of those of the same template and choice in the week before. */
export function outliers(costs: readonly SeenCost[], from: number, to: number): readonly object[] {
  const keyOf = ({ template_fqn: template, choice }: SeenCost): string => JSON.stringify([template, choice]);
  return costs.flatMap((cost) => {
    if (cost.at < from || cost.at >= to) return [];
    const usual = costs
      .filter((other) => other.at >= from - 7 * dayMs && other.at < from && keyOf(other) === keyOf(cost))
      .map(({ bytes }) => bytes)
      .sort((a, b) => a - b);
    const [p50, p95] = [percentile(usual, 0.5), percentile(usual, 0.95)];
    if (usual.length < 20 || cost.bytes <= p95) return [];
    const { at: _, ...facts } = cost;
    const usualCost = { usual_updates: usual.length, usual_p50: p50, usual_p95: p95, bytes_beyond: cost.bytes - p95 };
    return [{ ...facts, ...usualCost, times_usual: Math.round((100 * cost.bytes) / p50) / 100 }];
  });
}
