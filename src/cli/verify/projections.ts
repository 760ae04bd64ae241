/** `verify --projections`: compares the stored rows of projections with the rows that their SELECTs compute. */
import {
  ignoreProjections,
  rangeDifferences,
  sampleOf,
  storedProjections,
  storedRanges,
} from '../../store/verify/projection-rows.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { listedFindings, type Compared, type Finding } from './result.ts';

interface ProjectionCall {
  readonly snapshot: Snapshot;
  readonly schema: string;
  /** Number of ranges of each projection. */
  readonly ranges: number | 'all';
  readonly progress: (label: string, count: number) => void;
}

/** `compared` is the number of ranges. `different` is the number of rows that only one side has. */
export async function verifyProjections({ snapshot, schema, ranges, progress }: ProjectionCall): Promise<Compared> {
  const { client, stream } = snapshot;
  const findings: Finding[] = [];
  let [compared, different] = [0, 0];
  await ignoreProjections(client);
  for (const projection of await storedProjections(client, schema)) {
    const stored = await storedRanges(client, projection);
    for (const range of ranges === 'all' ? stored : sampleOf(stored, ranges)) {
      const differences = await rangeDifferences(client, projection, range);
      compared += 1;
      different += differences.length;
      progress(projection.name, compared);
      const listed = differences.slice(0, listedFindings - findings.length);
      findings.push(...listed.map(({ type, offset }) => ({ type, offset, row: projection.name })));
    }
  }
  const note = compared === 0 ? { note: 'no rows of projections are stored' } : {};
  return { atOffset: stream.checkpoint, compared, different, quarantined: 0, findings, ...note };
}
