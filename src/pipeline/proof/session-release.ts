/**
 * The release of the participant for a session. If a gateway temporarily lacks the route, the participant is not
 * mistaken for an older release.
 */
import { readRelease, type ParticipantRelease } from '../../ledger/api/release.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryMissingRoute } from '../retry/missing-route.ts';

/** @throws IndexerError when the participant cannot be reached or queried at all */
export function sessionRelease(
  parts: Pick<PipelineParts, 'ledger' | 'observers' | 'stop'>,
): Promise<ParticipantRelease> {
  const version = (): ReturnType<PipelineParts['ledger']['node']['version']> =>
    retryMissingRoute(parts, () => parts.ledger.node.version());
  return readRelease({ node: { version } });
}
