/**
 * Tests the JSON output of the benchmark. It contains the same values as the printed columns, and null for values that
 * were not measured.
 */
import { describe, expect, it } from 'vitest';
import { figureOf, type Figure, type Line } from '../../bench/figures/figures.ts';
import { keyFigures, type MeasuredSession } from '../../bench/figures/report.ts';
import { growthName } from '../../bench/growth/growth.ts';
import { readOptions } from '../../bench/options.ts';

const events = 1_000;
const cost = { seconds: 2, nodeCpu: 12_000, postgresCpu: 20_000, replayCpu: 1_000 };

/** Measurements of a run with a thousand events. */
function figure(bytes: number, us: number): Figure {
  const weight = {
    walBytes: 2 * bytes * events,
    fullPages: 100,
    heapBytes: 0.75 * bytes * events,
    indexBytes: 0.25 * bytes * events,
    postgresCpu: us * events,
    vacuumCpu: undefined,
    checkpoints: 2,
  };
  return figureOf({ ...cost, weight }, events);
}

const line = (name: string, ...figures: Figure[]): Line => ({ profile: 'default', name, figures });

function measuredOf(lines: readonly Line[]): MeasuredSession {
  const options = readOptions([]);
  if (options === undefined) throw new Error('no options');
  return { options, lines: [...lines], latencies: [], memories: [] };
}

describe('benchmark measurements', () => {
  it('are values per event, with ratios computed per round', () => {
    const lines = [
      line('ingest', figure(1_000, 20), figure(1_000, 30), figure(1_000, 40)),
      line(`PQS's layout`, figure(2_000, 40), figure(2_000, 40), figure(2_000, 160)),
      line(growthName(0), { ...figure(1_000, 20), rate: 100 }),
      line(growthName(10_000_000), { ...figure(1_000, 50), rate: 80 }),
    ];
    expect(keyFigures(measuredOf(lines), 'default')).toMatchObject({
      bytes_per_event: 1_000,
      wal_per_event: 2_000,
      pg_us_per_event: 30,
      postgres_us_per_event: 20,
      node_us_per_event: 12,
      vs_pqs_layout_cpu: 0.5,
      vs_pqs_layout_wal: 0.5,
      vs_pqs_layout_bytes: 0.5,
      growth_10m_vs_empty: 0.8,
      growth_10m_cpu_vs_empty: 0.4,
      growth_vs_empty: { '10000000': 0.8 },
    });
  });

  it('are null for values that were not measured or come from a failed run', () => {
    const lines = [line('ingest', { ...figure(1_000, 20), error: 'wrong' }), line(`PQS's layout`, figure(2_000, 40))];
    expect(keyFigures(measuredOf(lines), 'default')).toMatchObject({
      bytes_per_event: null,
      wal_per_event: null,
      pg_us_per_event: null,
      node_us_per_event: null,
      vs_pqs_layout_cpu: null,
      vs_pqs_layout_wal: null,
      vs_pqs_layout_bytes: null,
      growth_10m_vs_empty: null,
      growth_10m_cpu_vs_empty: null,
    });
  });

  it('include the number of events per checkpoint cycle', () => {
    expect(figure(1_000, 20)).toMatchObject({ cycleEvents: 500, fullPages: 0.1 });
  });
});
