/** A V8 CPU profile as a flame graph: one SVG without script, the width of a box its share of the time. */
import { readFileSync } from 'node:fs';
import { partOf, type CpuProfile, type ProfileNode } from './cpu-profile.ts';

interface Box {
  readonly name: string;
  readonly part: string;
  /** Microseconds of the function and all it called. */
  total: number;
  readonly children: Map<string, Box>;
}

const width = 1200;
const rowHeight = 17;
const topMargin = 34;
/** Narrower boxes are left out: nobody could read them. */
const leastWidth = 1;
/** Pixels of one character of the font below. */
const characterWidth = 6.2;

/** Boxes of one part of the program have one colour; both dark and light pages leave them readable. */
const colours: readonly (readonly [prefix: string, colour: string])[] = [
  ['ledger/', '#f2a65a'],
  ['model/', '#e8c547'],
  ['pipeline/', '#9bc53d'],
  ['store/', '#5fa8d3'],
  ['pg', '#8ecae6'],
  ['ws', '#c77dff'],
  ['(garbage', '#e5625e'],
  ['', '#b8b8b8'],
];

/** @param events how many the profiled run had, for microseconds per event */
export function flameGraph(path: string, events: number): string {
  const root = mergedStacks(JSON.parse(readFileSync(path, 'utf8')) as CpuProfile);
  const scale = width / root.total;
  const rows: string[] = [];
  let deepest = 0;
  const draw = (box: Box, depth: number, x: number): void => {
    const boxWidth = box.total * scale;
    if (boxWidth < leastWidth) return;
    deepest = Math.max(deepest, depth);
    rows.push(drawn(box, depth, x, boxWidth, events));
    let at = x;
    for (const child of [...box.children.values()].toSorted((a, b) => b.total - a.total)) {
      draw(child, depth + 1, at);
      at += child.total * scale;
    }
  };
  draw(root, 0, 0);
  const height = topMargin + (deepest + 1) * rowHeight + 4;
  const perEvent = (root.total / events).toFixed(1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" font-family="ui-monospace, monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="6" y="20" font-size="14">CPU of node: ${perEvent} us per event; a box is a function with all it calls, below it what it calls</text>`,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

function drawn(box: Box, depth: number, x: number, boxWidth: number, events: number): string {
  const y = topMargin + depth * rowHeight;
  const colour = colours.find(([prefix]) => box.part.startsWith(prefix))?.[1] ?? '#b8b8b8';
  const title = `${box.name} (${box.part}): ${(box.total / events).toFixed(2)} us per event`;
  const room = Math.floor((boxWidth - 6) / characterWidth);
  const label =
    room < 3 ? '' : `<text x="${(x + 3).toFixed(1)}" y="${String(y + 12)}">${escaped(box.name.slice(0, room))}</text>`;
  return (
    `<g><title>${escaped(title)}</title><rect x="${x.toFixed(1)}" y="${String(y)}" width="${(boxWidth - 0.5).toFixed(1)}" ` +
    `height="${String(rowHeight - 1)}" fill="${colour}"/>${label}</g>`
  );
}

/** Samples by their stacks, without the time in which nothing ran. */
function mergedStacks(profile: CpuProfile): Box {
  const parents = new Map<number, ProfileNode>();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node);
  const root: Box = { name: 'all', part: '', total: 0, children: new Map() };
  profile.samples.forEach((id, index) => {
    const leaf = nodes.get(id);
    if (leaf === undefined || leaf.callFrame.functionName === '(idle)') return;
    const stack: ProfileNode[] = [];
    for (let node: ProfileNode | undefined = leaf; node !== undefined; node = parents.get(node.id)) stack.unshift(node);
    count(root, stack.slice(1), profile.timeDeltas[index] ?? 0);
  });
  return root;
}

function count(root: Box, stack: readonly ProfileNode[], microseconds: number): void {
  let box = root;
  box.total += microseconds;
  for (const node of stack) {
    const part = partOf(node);
    const name = node.callFrame.functionName === '' ? '(anonymous)' : node.callFrame.functionName;
    const key = `${name} ${part}`;
    let child = box.children.get(key);
    if (child === undefined) box.children.set(key, (child = { name, part, total: 0, children: new Map() }));
    child.total += microseconds;
    box = child;
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
