/**
 * Summarizes a V8 CPU profile in a few lines: microseconds of self time per event, by part of the program and by
 * function.
 */
import { readFileSync } from 'node:fs';
import { aligned } from './figures.ts';

export interface ProfileNode {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const maxFunctions = 25;

/** The summary for the terminal. The profile covers the complete process, including its start and end. */
export function summaryOf(path: string, events: number): string {
  const profile = JSON.parse(readFileSync(path, 'utf8')) as CpuProfile;
  const timeByPart = new Map<string, number>();
  const timeByFunction = new Map<string, number>();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  profile.samples.forEach((id, index) => {
    const node = nodes.get(id);
    if (node === undefined || node.callFrame.functionName === '(idle)') return;
    const microseconds = profile.timeDeltas[index] ?? 0;
    const profilePart = partOf(node);
    add(timeByPart, profilePart, microseconds);
    add(
      timeByFunction,
      `${node.callFrame.functionName || '(anonymous)'} ${profilePart}:${String(node.callFrame.lineNumber + 1)}`,
      microseconds,
    );
  });
  return `${listOf('part', timeByPart, events, 15)}\n\n${listOf('function', timeByFunction, events, maxFunctions)}`;
}

/** The source file of a function; the module, for other code. */
export function partOf({ callFrame: { url, functionName } }: ProfileNode): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'engine';
  const module = /node_modules\/([^/]+)/.exec(url)?.[1];
  if (module !== undefined) return module;
  return /\/src\/(.+)\.js$/.exec(url)?.[1] ?? url.replace('file://', '');
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function listOf(head: string, sums: ReadonlyMap<string, number>, events: number, maxLines: number): string {
  const sortedSums = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, maxLines);
  const rows = sortedSums.map(([name, microseconds]) => [name, '', (microseconds / events).toFixed(2)]);
  return aligned([[head, '', 'us/event'], ...rows]);
}
