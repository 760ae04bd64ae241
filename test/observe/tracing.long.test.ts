/** An OpenTelemetry SDK receives the spans of a running indexer. Without an SDK, there are no spans. */
import { trace } from '@opentelemetry/api';
import type { Link } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openTracer } from '../../src/observe/tracing/tracing.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';

let sandbox: Sandbox;
let database: TestDatabase;
const exporter = new InMemorySpanExporter();

beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 7, updates: 200 });
  database = await createTestDatabase();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
});
afterEach(async () => {
  trace.disable();
  exporter.reset();
  await sandbox.close();
  await database.drop();
});

function run(env: Readonly<Record<string, string>> = {}) {
  return runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url, ...env });
}

function spans(name: string): readonly ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

function sum(spanList: readonly ReadableSpan[], attribute: string): number {
  return spanList.reduce((total, { attributes }) => total + Number(attributes[attribute] ?? 0), 0);
}

async function storedTraces(): Promise<readonly string[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ trace_parent: string }>(
    'select distinct trace_parent from ledger.decoded_updates where trace_parent is not null',
  );
  await client.end();
  return rows.map((row) => row.trace_parent);
}

function traceParent({ context }: Link): string {
  return `00-${context.traceId}-${context.spanId}-0${context.traceFlags}`;
}

describe('openTracer()', () => {
  it('returns undefined without an SDK', () => {
    trace.disable();
    expect(openTracer()).toBeUndefined();
  });
});

describe('tracing', () => {
  it('creates a batch span with decode and commit, linked to the traces of its commands', async () => {
    await using indexer = await run({ INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '20' });
    const end = sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    const updates = await indexer.metric('indexer_updates_total{kind="transaction"}');
    const batches = spans('batch');
    expect(sum(batches, 'indexer.updates')).toBeGreaterThanOrEqual(updates);
    expect(batches.at(-1)?.attributes).toMatchObject({ 'indexer.stream': 'updates', 'indexer.offset.to': end });
    for (const { attributes } of batches) {
      expect(attributes['indexer.offset.to']).toBeGreaterThanOrEqual(Number(attributes['indexer.offset.from']));
    }
    const [batch] = batches;
    const { spanId, traceId } = batch?.spanContext() ?? {};
    const insideSpans = exporter.getFinishedSpans().filter((span) => span.parentSpanContext?.spanId === spanId);
    expect(insideSpans.map(({ name }) => name)).toEqual(['decode', 'commit']);
    expect(insideSpans.every((span) => span.spanContext().traceId === traceId)).toBe(true);
    const linkedTraces = batches.flatMap(({ links }) => links.map(traceParent));
    expect([...new Set(linkedTraces)].sort()).toEqual([...(await storedTraces())].sort());
    expect(linkedTraces.length).toBeGreaterThan(40);
  });

  it('links each valid trace once, and at most 32 traces', () => {
    const tracer = openTracer();
    const batch = tracer?.batch('updates', 0);
    const update = (traceParent: string) => ({ kind: 'transaction', traceParent, traceState: 'a=b' }) as never;
    for (let index = 0; index < 100; index += 1) {
      for (const id of [index, index, 0])
        batch?.note(update(`00-${'0'.repeat(29)}${String(id + 100)}-00f067aa0ba902b7-01`));
      batch?.note(update(`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`));
      batch?.note(update('hello'));
    }
    batch?.decoded(1, 1, undefined);
    // The session ends before the batch is written; a later commit has no effect.
    tracer?.abandon();
    batch?.done({ offset: 1, updatesByKind: new Map(), eventsByType: new Map() } as never);
    expect(spans('batch').map(({ attributes }) => attributes['indexer.abandoned'])).toEqual([true]);
    const [{ links } = { links: [] }] = spans('batch');
    expect(new Set(links.map(traceParent)).size).toBe(32);
    expect(links).toHaveLength(32);
    expect(links[0]?.context.traceState?.serialize()).toBe('a=b');
  });

  it('creates a seed span that contains the spans of its batches', async () => {
    await using indexer = await run({ INDEXER_BATCH_UPDATES: '10' });
    await waitFor('the seed', async () => (spans('seed').length === 1 ? true : undefined));
    const [seed] = spans('seed');
    const batches = spans('batch').filter(({ attributes }) => attributes['indexer.stream'] === 'active_contracts');
    expect(batches.length).toBeGreaterThan(1);
    for (const batch of batches) expect(batch.parentSpanContext?.spanId).toBe(seed?.spanContext().spanId);
    expect(seed?.attributes['indexer.offset']).toBe((await indexer.status()).checkpoint);
  });

  it('records a failure with its error code, and no payload', async () => {
    await using indexer = await run({ INDEXER_START: 'genesis' });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    const client = new Client({ connectionString: database.url });
    await client.connect();
    // A new writer raises the epoch, which fences the running session.
    await client.query('update ledger.stream set epoch = epoch + 1');
    await client.end();
    generateHistory(sandbox.ledger, { seed: 8, updates: 5 });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    const failedSpans = spans('batch').filter(({ status }) => status.message !== undefined);
    expect(failedSpans.map(({ attributes }) => attributes['error.type'])).toContain('WRITER_FENCED');
    expect(
      JSON.stringify(exporter.getFinishedSpans().map(({ attributes, status }) => [attributes, status])),
    ).not.toMatch(/alice|payload|::/i);
  });

  it.each(['onStart', 'onEnd'])('does not affect the stream if the SDK throws in %s', async (failurePoint) => {
    trace.disable();
    const doNothing = (): Promise<void> => Promise.resolve();
    const throwError = (): never => {
      throw new Error('the exporter is broken');
    };
    const processor = {
      onStart: () => {},
      onEnd: () => {},
      [failurePoint]: throwError,
      forceFlush: doNothing,
      shutdown: doNothing,
    };
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
    await using indexer = await run({ INDEXER_BATCH_UPDATES: '20' });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    generateHistory(sandbox.ledger, { seed: 8, updates: 50 });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    expect(indexer.logged('pipeline failed, trying again') + indexer.logged('pipeline failed')).toBe(0);
  });
});
