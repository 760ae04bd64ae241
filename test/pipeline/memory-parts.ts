/** The parts of a pipeline whose ledger and sink are in memory. */
import { releaseOf } from '../../src/ledger/api/release.ts';
import type { AccessToken, TokenSource } from '../../src/ledger/access/token.ts';
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import { Commits } from '../../src/pipeline/ports/commits.ts';
import type { Observers } from '../../src/pipeline/ports/observer.ts';
import type { PipelineLimits, PipelineParts } from '../../src/pipeline/ports/parts.ts';
import { defaultPace } from '../../src/config/pace.ts';
import { deferred } from '../support/deferred.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { MemorySink } from './memory-sink.ts';

/** Name of an observer's method, for example `stream.failed`. */
type Method = { [Port in keyof Observers]: `${Port}.${keyof Observers[Port] & string}` }[keyof Observers];
type CallFacts<Name extends Method> = Name extends `${infer Port extends keyof Observers}.${infer Called}`
  ? Called extends keyof Observers[Port]
    ? Observers[Port][Called] extends (...facts: infer Given) => void
      ? Given
      : never
    : never
  : never;

/** Records all reports. */
export class Reports {
  readonly calls: (readonly [name: string, ...facts: readonly unknown[]])[] = [];
  readonly observers: Observers = {
    stream: this.#port('stream'),
    seed: this.#port('seed'),
    polls: this.#port('polls'),
    release: this.#port('release'),
    packages: this.#port('packages'),
    interfaces: this.#port('interfaces'),
    filterExtension: this.#port('filterExtension'),
    completions: this.#port('completions'),
    retention: this.#port('retention'),
    projections: this.#port('projections'),
    traffic: this.#port('traffic'),
    jobs: this.#port('jobs'),
  };

  #port<Port extends keyof Observers>(port: Port): Observers[Port] {
    return new Proxy({} as Observers[Port], {
      get:
        (_, name) =>
        (...facts: readonly unknown[]): void => {
          this.calls.push([`${port}.${String(name)}`, ...facts]);
        },
    });
  }

  /** The reports of a method, in order. */
  of<Name extends Method>(name: Name): readonly CallFacts<Name>[] {
    return this.calls.filter(([method]) => method === name).map(([, ...facts]) => facts as CallFacts<Name>);
  }

  get phases(): readonly string[] {
    return this.of('stream.phaseChanged').map(([phase]) => phase);
  }

  /** Codes of the failures, each with whether it is retried. */
  get failures(): readonly (readonly [code: string, again: boolean])[] {
    return this.of('stream.failed').map(([, error, delayMs]) => [error.code, delayMs !== undefined]);
  }

  errors(): readonly IndexerError[] {
    return this.of('stream.failed').map(([, error]) => error);
  }
}

export class MemoryTokens implements TokenSource {
  current: AccessToken | undefined;
  invalidated = 0;
  #replaced = deferred();

  read(): Promise<string | undefined> {
    return Promise.resolve(this.current?.token);
  }

  lease(): Promise<AccessToken | undefined> {
    return Promise.resolve(this.current);
  }

  invalidate(): void {
    this.invalidated += 1;
  }

  /** Stores another token. */
  replace(token: string): void {
    this.current = { token, expiresAt: undefined, renewAt: undefined, endsAt: undefined };
    this.#replaced.resolve();
    this.#replaced = deferred();
  }

  async replaced(signal: AbortSignal): Promise<void> {
    const whenOver = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([this.#replaced.promise, whenOver]);
  }
}

export interface World {
  readonly parts: PipelineParts;
  readonly sink: MemorySink;
  readonly ledger: MemoryLedger;
  readonly tokens: MemoryTokens;
  readonly reports: Reports;
  /** Checkpoints that commit listeners received. */
  readonly reached: readonly number[];
  readonly stop: AbortController;
}

/** @param change parts and limits that the test needs */
export function memoryWorld({
  limits = {},
  ...change
}: Partial<Omit<PipelineParts, 'limits'>> & { readonly limits?: Partial<PipelineLimits> } = {}): World {
  const sink = new MemorySink();
  const ledger = new MemoryLedger();
  const tokens = new MemoryTokens();
  const reports = new Reports();
  const commits = new Commits();
  const reachedOffsets: number[] = [];
  commits.listen((checkpoint) => reachedOffsets.push(checkpoint));
  const stop = new AbortController();
  const pipeline: PipelineParts = {
    ledger,
    polledLedger: ledger,
    openStream: ledger.openStream,
    tokenSource: tokens,
    sink,
    release: releaseOf(ledger.version),
    filter: {
      parties: [],
      templates: [],
      interfaces: [],
      createdEventBlobs: false,
      shape: 'LEDGER_EFFECTS',
      topology: true,
    },
    wantedInterfaces: [],
    viewStaging: () => Promise.reject(new Error('staging is not part of this test')),
    filterExtensionPlace: () => Promise.reject(new Error('filter extensions are not part of this test')),
    earlierPlace: () => Promise.reject(new Error('earlier history is not part of this test')),
    retention: undefined,
    projections: undefined,
    traffic: undefined,
    start: 'seed',
    stopAt: undefined,
    observers: reports.observers,
    commits,
    quarantine: false,
    unknownUpdates: 'store',
    completions: 'off',
    stop: stop.signal,
    pace: defaultPace,
    ...change,
    limits: {
      batchUpdates: 2,
      batchBytes: 1_000_000,
      bufferUpdates: 100,
      bufferBytes: 1_000_000,
      writeConcurrency: 2,
      retryMaxDelayMs: 10,
      progressTimeoutMs: 60_000,
      pollMs: 60_000,
      idleProbeAfterMs: 60_000,
      silenceMs: 60_000,
      ...limits,
    },
  };
  return { parts: pipeline, sink, ledger, tokens, reports, reached: reachedOffsets, stop };
}
