/** Reports content that this version does not know. Writes one log line for each name, and increases a counter. */
import { unknownKinds, type UnknownNameCount, type UnknownNames, type UnknownKind } from '../../model/unknown.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from '../metrics/metrics.ts';

const messages: Readonly<Record<UnknownKind, string>> = {
  update: 'update of an unknown kind stored raw',
  topology_event: 'topology event of an unknown kind stored raw',
  field: 'unknown field ignored',
};

interface ReportParts {
  /** All names since the start of the process. */
  readonly names: UnknownNames;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Adds the names of one batch. */
export function reportUnknownNames({ names, metrics, logger }: ReportParts, batch: readonly UnknownNameCount[]): void {
  if (batch.length === 0) return;
  for (const entry of batch) {
    const { name, fresh: isNewName } = names.add(entry);
    if (isNewName) warn(logger, { ...entry, name });
    metrics.unknown.inc({ kind: entry.kind, name }, entry.count);
  }
  for (const kind of unknownKinds) {
    metrics.unknownNames.set({ kind }, names.all.filter((entry) => entry.kind === kind).length);
  }
}

function warn(logger: Logger, { kind, name, firstOffset }: UnknownNameCount): void {
  const remedy = 'use a version of ledger-indexer that supports it: the participant may be newer than this one';
  logger.warn({ kind, name, offset: firstOffset, remedy }, messages[kind]);
}
