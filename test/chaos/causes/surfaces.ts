/** Reads the state of an indexer at one moment from every interface that operators and machines read. */
import { startDaemon } from '../../e2e/runs/daemon.ts';
import type { CauseWorld } from './world.ts';

export interface SurfaceText {
  readonly state: string;
  readonly reason: string;
  readonly remedy?: string;
}

/** Samples by name and labels, as `/metrics` writes them. */
export type Samples = ReadonlyMap<string, number>;

export interface SurfaceSample {
  /** Seconds since the world was opened, by the clock of the indexer. */
  readonly at: number;
  /** Whether `/readyz` returns 200. */
  readonly ready: boolean;
  readonly alive: boolean;
  readonly readyz: SurfaceText;
  readonly status: SurfaceText;
  /** The newest status that the status page received. */
  readonly page: SurfaceText;
  /** The output of `ledger-indexer status --json`. */
  readonly command: SurfaceText;
  readonly samples: Samples;
  /** Error codes in the log so far, in order. */
  readonly logged: readonly string[];
}

/** Reads all interfaces. The command is read first, because it is a separate process and takes the most time. */
export async function sampleSurfaces(world: CauseWorld): Promise<SurfaceSample> {
  const command = await statusCommand(world);
  const [readyz, livez, status, page, samples] = await Promise.all([
    fetch(`${world.http}/readyz`),
    fetch(`${world.http}/livez`),
    fetch(`${world.http}/status`),
    pageOf(world.http),
    samplesOf(world.http),
  ]);
  return {
    at: world.seconds(),
    ready: readyz.ok,
    alive: livez.ok,
    readyz: (await readyz.json()) as SurfaceText,
    status: (await status.json()) as SurfaceText,
    page,
    command,
    samples,
    logged: loggedCodes(world),
  };
}

/** Error codes in the log lines so far. */
export function loggedCodes({ daemon }: CauseWorld): readonly string[] {
  const lines = daemon.output().split('\n');
  return lines.flatMap((line) => {
    const code = /"code":"([A-Z]+_[A-Z_]+)"/.exec(line)?.[1];
    return code === undefined ? [] : [code];
  });
}

async function statusCommand({ http, postgres }: CauseWorld): Promise<SurfaceText> {
  const { port } = new URL(http);
  const argv = ['status', '--json', '--http-port', port];
  await using run = startDaemon({ argv, ledgerUrl: '', databaseUrl: postgres.url, schema: 'ledger' });
  await run.exited;
  return JSON.parse(run.output()) as SurfaceText;
}

/** The first `tick` of the event stream that the status page reads. */
async function pageOf(http: string): Promise<SurfaceText> {
  const stop = new AbortController();
  const response = await fetch(`${http}/events`, { signal: stop.signal });
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      const tick = /^event: tick\ndata: (.*)$/m.exec(text)?.[1];
      if (tick !== undefined && text.slice(text.indexOf(tick)).includes('\n')) {
        return (JSON.parse(tick) as { readonly status: SurfaceText }).status;
      }
    }
  } finally {
    stop.abort();
  }
  throw new Error('the status page was sent nothing');
}

async function samplesOf(http: string): Promise<Samples> {
  const text = await (await fetch(`${http}/metrics`)).text();
  const lines = text.split('\n').filter((line) => /^\w/.test(line));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
