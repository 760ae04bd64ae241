/**
 * Compares frames and responses of the sandbox, read without the client, with samples of participants. They must have
 * the same keys in the same order, the same types, and the same rejections.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { releases, type Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { fixture, sampleNames } from '../support/wire/fixtures.ts';
import { kindsIn, shapeProblems } from './frame-shape.ts';
import { busySandbox, refusals, sources, type Source } from './frame-sources.ts';

type Message = Readonly<Record<string, unknown>>;

const sandboxes = new Map<Release, Sandbox>();
beforeAll(async () => {
  for (const release of releases) sandboxes.set(release, await busySandbox(release));
});
afterAll(async () => {
  for (const sandbox of sandboxes.values()) await sandbox.close();
});

function readSample(sample: string): unknown {
  return JSON.parse(fixture(`samples/${sample}`)) as unknown;
}

async function messagesOf({ messages, release = '3.5' }: Source): Promise<readonly unknown[]> {
  const sandbox = sandboxes.get(release);
  return sandbox === undefined ? [] : await messages(sandbox);
}

/** A text without the ids and numbers that differ between ledgers. */
function wording(text: unknown): string {
  return String(text).replaceAll(/\b[0-9a-f]{4,}\b|\d+/gu, '#');
}

function keysOf(value: unknown): readonly string[] {
  return Object.keys(value ?? {}).sort();
}

function typesOf(resources: unknown): readonly unknown[] {
  return ((resources ?? []) as readonly (readonly unknown[])[]).map(([type]) => type);
}

describe('sandbox message', () => {
  it.each(sources)('has the form of $sample', async (source) => {
    const sample = readSample(source.sample);
    const messages = await messagesOf(source);
    const problems = messages.flatMap((message) => shapeProblems(sample, message, source));
    expect([...new Set(problems)]).toEqual([]);
    const kinds = new Set(messages.flatMap((message) => [...kindsIn(message)]));
    const missingKinds = [...kindsIn(sample)].filter((kind) => !kinds.has(kind));
    expect(missingKinds).toEqual(Object.keys(source.without ?? {}));
    expect(messages.length + missingKinds.length).toBeGreaterThan(0);
  });

  it.each(refusals)('has the form and the texts of $sample', async (source) => {
    const { context = {}, ordered: isOrdered } = source;
    const sample = readSample(source.sample) as Message;
    const [message] = (await messagesOf(source)) as readonly Message[];
    for (const key of ['code', 'errorCategory', 'grpcCodeValue', 'retryInfo', 'definiteAnswer']) {
      if (key in sample) expect([key, message?.[key]]).toEqual([key, sample[key]]);
    }
    expect(wording(message?.['cause'])).toBe(wording(sample['cause']));
    // Recordings that their source truncated have only these two keys.
    if (Object.keys(sample).length === 2) return;
    expect(
      shapeProblems(sample, message, {
        ...(isOrdered === undefined ? {} : { ordered: isOrdered }),
        except: ['$.context'],
      }),
    ).toEqual([]);
    const expected = keysOf(sample['context']).filter((key) => !(key in context));
    expect(keysOf(message?.['context']).filter((key) => !(key in context))).toEqual(expected);
    expect(typesOf(message?.['resources'])).toEqual(typesOf(sample['resources']));
  });

  it('is compared with every sample of a frame, entry, response or rejection', () => {
    const coveredSamples = new Set([...sources, ...refusals].map(({ sample }) => sample));
    // The sandbox does not support the older formats. A separate test compares users.
    const files = sampleNames().filter((name) => !/^(?:older|users)\//u.test(name));
    expect(files.filter((name) => !coveredSamples.has(name))).toEqual([]);
    expect(files.length).toBeGreaterThan(30);
  });
});
