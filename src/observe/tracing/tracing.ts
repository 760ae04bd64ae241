/**
 * Spans of batches and seeds for OpenTelemetry. Uses only the OpenTelemetry API. Unless the process was started with an
 * SDK, there is no tracer, and the pipeline does not even collect the data of spans. No span contains a payload, party
 * or token.
 */
import {
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  createTraceState,
  diag,
  isSpanContextValid,
  trace,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type { Update } from '../../model/update.ts';
import { stringOf } from '../../model/utf8.ts';
import type { BatchSpan, Tracer } from '../../pipeline/ports/tracer.ts';
import { version } from '../../version.ts';

const name = 'ledger-indexer';
/** Maximum number of command traces that are linked to one batch, because backends truncate long lists. */
const maxLinks = 32;

/** The tracer of the SDK that the process was started with; undefined if there is none. */
export function openTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(name) === undefined) return undefined;
  return withoutThrowing(new SpanTracer(provider.getTracer(name, version)), (thrown) => {
    diag.error(`${name}: a span is lost`, thrown);
  });
}

class SpanTracer implements Tracer {
  readonly #tracer: OtelTracer;
  readonly #open = new Set<OpenBatch>();
  /** Parent of the spans of batches: the span of the seed while it runs. */
  #parent: Context = ROOT_CONTEXT;

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  batch(stream: 'updates' | 'active_contracts', from: number): BatchSpan {
    const attributes = { 'indexer.stream': stream, 'indexer.offset.from': from };
    const span = this.#tracer.startSpan('batch', { attributes, root: this.#parent === ROOT_CONTEXT }, this.#parent);
    const batch = new OpenBatch(this.#tracer, span, this.#parent, () => this.#open.delete(batch));
    this.#open.add(batch);
    return batch;
  }

  abandon(): void {
    for (const batch of this.#open) batch.abandon();
  }

  seed(): (offset: number | undefined, error: IndexerError | undefined) => void {
    const span = this.#tracer.startSpan('seed', { root: true }, ROOT_CONTEXT);
    this.#parent = trace.setSpan(ROOT_CONTEXT, span);
    return (offset, error) => {
      this.#parent = ROOT_CONTEXT;
      if (offset !== undefined) span.setAttribute('indexer.offset', offset);
      if (error !== undefined) recordFailure(span, error);
      span.end();
    };
  }
}

class OpenBatch implements BatchSpan {
  readonly #tracer: OtelTracer;
  readonly #span: Span;
  readonly #inside: Context;
  readonly #ended: () => void;
  readonly #links = new Map<string, Link>();
  /** Span of the current step: decode or commit. */
  #step: Span;
  #over = false;

  constructor(tracer: OtelTracer, span: Span, parent: Context, onEnd: () => void) {
    this.#tracer = tracer;
    this.#span = span;
    this.#inside = trace.setSpan(parent, span);
    this.#ended = onEnd;
    this.#step = tracer.startSpan('decode', {}, this.#inside);
  }

  note(update: Update): void {
    if (update.kind === 'offset_checkpoint' || update.traceParent === null || this.#links.size >= maxLinks) return;
    const traceParent = stringOf(update.traceParent);
    if (this.#links.has(traceParent)) return;
    const context = spanContextOf(traceParent, update.traceState === null ? null : stringOf(update.traceState));
    if (context !== undefined) this.#links.set(traceParent, { context });
  }

  decoded(frames: number, bytes: number, error: IndexerError | undefined): void {
    this.#step.setAttributes({ 'indexer.frames': frames, 'indexer.bytes': bytes });
    if (error !== undefined) recordFailure(this.#step, error);
    this.#step.end();
    this.#span.addLinks([...this.#links.values()]);
  }

  writing(lane: number): void {
    this.#step = this.#tracer.startSpan('commit', { attributes: { 'indexer.lane': lane } }, this.#inside);
  }

  done(batch: Batch, error?: IndexerError): void {
    if (this.#over) return;
    this.#span.setAttributes({ 'indexer.offset.to': batch.offset, ...countsOf(batch) });
    if (error !== undefined) for (const span of [this.#step, this.#span]) recordFailure(span, error);
    this.#end();
  }

  abandon(): void {
    if (this.#over) return;
    this.#span.setAttribute('indexer.abandoned', true);
    this.#end();
  }

  #end(): void {
    this.#over = true;
    // Called first, because a span whose end fails must not be kept.
    this.#ended();
    // A step that has already ended is not changed.
    if (this.#step.isRecording()) this.#step.end();
    this.#span.end();
  }
}

function countsOf(batch: Batch): Record<string, number> {
  let updates = 0;
  for (const [kind, count] of batch.updatesByKind) if (kind !== 'offset_checkpoint') updates += count;
  let events = 0;
  for (const countsByTemplate of batch.eventsByType.values())
    for (const count of countsByTemplate.values()) events += count;
  return { 'indexer.updates': updates, 'indexer.events': events };
}

/** Records the error only by its code, because messages of drivers may quote rows. */
function recordFailure(span: Span, error: IndexerError): void {
  span.setAttribute('error.type', error.code);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
}

/** The trace that a W3C `traceparent` names; undefined if it is invalid. */
function spanContextOf(traceParent: string, traceState: string | null): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(traceParent) ?? [];
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(traceState === null ? {} : { traceState: createTraceState(traceState) }),
  };
  return isSpanContextValid(context) ? context : undefined;
}

// Isolates failures of tracing. An SDK and its processors are third-party code, and tracing is less important than the
// stream.

/** Wraps a tracer so that it never throws. @param onFailure receives the thrown value; must not throw */
export function withoutThrowing(tracer: Tracer, onFailure: (thrown: unknown) => void): Tracer {
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (thrown) {
      onFailure(thrown);
      return undefined;
    }
  };
  return {
    batch: (stream, from) => {
      const span = attempt(() => tracer.batch(stream, from));
      return {
        note: (update) => attempt(() => span?.note(update)),
        decoded: (frames, bytes, error) => attempt(() => span?.decoded(frames, bytes, error)),
        writing: (lane) => attempt(() => span?.writing(lane)),
        done: (batch, error) => attempt(() => span?.done(batch, error)),
      };
    },
    abandon: () => attempt(() => tracer.abandon()),
    seed: () => {
      const end = attempt(() => tracer.seed());
      return (offset, error) => attempt(() => end?.(offset, error));
    },
  };
}
