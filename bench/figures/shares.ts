/**
 * Compares two servers that were measured in the same rounds: how much of the first server's ingest / COPY the second
 * one reaches.
 */
import { aligned, ratio, type Line } from './figures.ts';
import { ceilingName } from '../rounds.ts';
import { oneLaneName, twoLaneName, type Session } from '../session.ts';

export interface Share {
  readonly profile: string;
  readonly name: string;
  /** Medians over the rounds of ingest / COPY on each server. */
  readonly first: number;
  readonly second: number;
  readonly share: number;
}

/** One share for each profile and number of lanes that was measured on both. */
export function sharesOf(first: Session, second: Session): readonly Share[] {
  return first.options.profiles.flatMap(({ name: profile }) =>
    [oneLaneName, twoLaneName].flatMap((name) => {
      const [firstShare, otherShare] = [first, second].map((session) => toCopy(session, profile, name));
      if (firstShare === undefined || otherShare === undefined) return [];
      return [{ profile, name, first: firstShare, second: otherShare, share: otherShare / firstShare }];
    }),
  );
}

function toCopy({ lines }: Session, profile: string, name: string): number | undefined {
  const line = (lineName: string): Line | undefined =>
    lines.find((candidateLine) => candidateLine.profile === profile && candidateLine.name === lineName);
  return ratio(line(name), line(ceilingName('', 1)));
}

/** The shares as text. */
export function shareTable(first: Session, second: Session, shares: readonly Share[]): string {
  const versions = [first, second].map(({ server }) => `Postgres ${server.version}`);
  const rows = shares.map(({ profile, name, first: firstShare, second: otherShare, share }) => [
    profile,
    `${name} / COPY`,
    firstShare.toFixed(3),
    otherShare.toFixed(3),
    share.toFixed(3),
  ]);
  return aligned([['profile', 'ratio (median of rounds)', ...versions, 'second / first'], ...rows]);
}
