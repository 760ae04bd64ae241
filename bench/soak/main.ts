/** `npm run soak`: a long run with faults; `npm run soak -- --help` lists the options. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { onExit, runToEnd } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { prepareOutputs } from '../indexer-process.ts';
import { openFolder } from './folder.ts';
import { help, readSoakOptions, type SoakOptions } from './options.ts';
import { runPiece, type PieceResult } from './piece.ts';
import { pieceText, slopeTable } from './report.ts';
import type { Sample } from './samples.ts';
import { analyze, type SeriesResult } from './series.ts';

function folderOf({ keep, resume }: SoakOptions): string {
  if (keep !== undefined || resume !== undefined) return keep ?? resume ?? '';
  mkdirSync('.bench', { recursive: true });
  const folder = mkdtempSync(resolve('.bench', 'soak-'));
  onExit(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

function linesOf(file: string): readonly unknown[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

async function main(): Promise<void> {
  const options = readSoakOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(help);
    return;
  }
  prepareOutputs();
  const folder = folderOf(options);
  let state = await openFolder(folder, options.resume !== undefined);
  const readSamples = (): readonly Sample[] => linesOf(join(folder, 'samples.jsonl')) as readonly Sample[];
  const slopes: Record<string, readonly SeriesResult[]> = {};
  for (let done = 0; done < options.pieces; done += 1) {
    const [result, next] = await runPiece(folder, state, options);
    printStatus('');
    const results = analyze(readSamples(), [result]);
    slopes[`piece ${String(result.piece)}`] = results;
    process.stdout.write(pieceText(result, results));
    if (!next.isComplete) throw new Error('a check failed');
    state = next;
  }
  const pieces = linesOf(join(folder, 'pieces.jsonl')) as readonly PieceResult[];
  const together = analyze(readSamples(), pieces);
  if (pieces.length > 1) process.stdout.write(`all ${String(pieces.length)} pieces together\n${slopeTable(together)}`);
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}`;
  const text = JSON.stringify({ machine, rate: options.rate, pieces, slopes: { ...slopes, together } }, null, 2);
  if (options.json !== undefined) writeFileSync(options.json, `${text}\n`);
  const growing = [...Object.values(slopes), together].flat().filter(({ verdict }) => verdict === 'grows');
  if (growing.length > 0) throw new Error(`growing: ${[...new Set(growing.map(({ name }) => name))].join(', ')}`);
}

await runToEnd('soak', main);
