/** The command `export`: locks the folder, exports once or repeatedly, and reports each result. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reads } from 'ledger-indexer/read';
import { DeltaLogs } from '../delta/delta-log.ts';
import { withDiskErrors } from '../errors/on-disk.ts';
import { type Env, openLake } from '../storage/open-lake.ts';
import { type ProgressOutput, progressOn } from './export-progress.ts';
import { type ExportResult, exportOnce } from './run-export.ts';

export interface ExportRequest {
  /** A folder, or `s3://BUCKET/PREFIX`. */
  readonly to: string;
  /** The last offset to export; undefined for the checkpoint. */
  readonly until: number | undefined;
  /**
   * Selects typed views and projections of users by name (`typed.NAME`, `derived.NAME`); those that are already in the
   * lake are always exported.
   */
  readonly isWanted: (name: string) => boolean;
  /** Time between two exports, milliseconds; undefined to export once. */
  readonly everyMs: number | undefined;
  readonly asJson: boolean;
  /** Environment variables with the credentials for a bucket. */
  readonly env: Env;
  readonly stop: AbortSignal;
  readonly print: (line: string) => void;
  readonly stderr: ProgressOutput;
  /** Called when the lake is locked, before anything is read. */
  readonly onBegin: () => Promise<void>;
  /** Called after each export with the last offset up to which all tables are in the lake. */
  readonly onExported: (untilOffset: number) => Promise<void>;
}

/** @throws LakeError USAGE, EXPORT_ errors; errors of the reads and the callbacks */
export async function exportLake(databaseReads: Reads, request: ExportRequest): Promise<void> {
  const { to, until: untilOffset, isWanted, everyMs, asJson, env, stop, print, stderr, onBegin, onExported } = request;
  const folder = await openLake(to, env);
  const logs = new DeltaLogs(folder);
  const progress = progressOn(stderr);
  await withDiskErrors('written', async () => {
    await folder.prepare();
    await folder.whileLocked(async () => {
      await onBegin();
      for (;;) {
        const startMs = performance.now();
        const options = { until: untilOffset, isWanted, stop, logs, onProgress: progress.display };
        const result = await exportOnce(databaseReads, folder, options).finally(progress.end);
        await onExported(Math.min(result.until, ...Object.values(result.incomplete)));
        if (everyMs === undefined || result.files > 0) print(resultLine(result, performance.now() - startMs, asJson));
        if (everyMs === undefined) return;
        await sleep(everyMs, undefined, { signal: stop }).catch(() => undefined);
        if (stop.aborted) return;
      }
    });
  });
}

function resultLine(result: ExportResult, ms: number, asJson: boolean): string {
  const seconds = ms / 1000;
  const rowsPerSecond = Math.round(result.rows / Math.max(seconds, 0.001));
  if (asJson) return JSON.stringify({ ...result, seconds: Number(seconds.toFixed(3)), rowsPerSecond });
  const { until: untilOffset, rows, files, bytes, rewritten, incomplete } = result;
  const rewrittenText = rewritten === 0 ? '' : `, ${String(rewritten)} of them rewritten`;
  return `exported up to offset ${String(untilOffset)}: ${String(rows)} rows in ${String(files)} files${rewrittenText}, ${String(bytes)} bytes, ${String(rowsPerSecond)} rows/s${incompleteText(incomplete)}`;
}

function incompleteText(incomplete: ExportResult['incomplete']): string {
  return Object.entries(incomplete)
    .map(([name, end]) => `; ${name} is stored up to offset ${String(end)} only`)
    .join('');
}
