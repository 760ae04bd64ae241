/**
 * Tests the decoder and the conversion to rows with damaged frames. Each frame is converted or rejected, in bounded
 * time. A rejection has a position and no contents, and built-in objects of JavaScript stay unchanged. TEST_RUNS sets
 * the number of frames (50,000), TEST_SEED the seed, and FUZZ_JSON the file for the results; `npm run fuzz` sets all
 * three.
 */
import { writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { Batch } from '../../src/model/batch.ts';
import { Dictionary } from '../../src/model/dictionary.ts';
import { BinaryTables } from '../../src/store/write/copy-binary.ts';
import { expectProperty, runsFor, seedFor } from '../support/chance/property.ts';
import { framesToDamage } from './frames.ts';
import { canary, damageText, recipes, type Recipe } from './mutations.ts';

const frameCount = runsFor(50_000);
const seed = seedFor();
/** Limit of CPU time for one frame, including garbage collection. */
const limitMs = 1_000;
const frames = framesToDamage();

const builtins = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Number.prototype];
const shapeOf = (): string => JSON.stringify(builtins.map((builtin) => Reflect.ownKeys(builtin).map(String)));
const originalShape = shapeOf();

const outcome = { decoded: 0, stored: 0, refused: 0, slowestMs: 0, bytes: 0 };
/** The frame cannot be decoded, or a value does not fit its column. */
const refusalCodes: ReadonlySet<string> = new Set(['UPDATE_UNDECODABLE', 'STORE_DATA_REFUSED']);
const refusals = new Map<string, number>();

const rows = new BinaryTables();
let dictionary = emptyDictionary();

function emptyDictionary(): Dictionary {
  return new Dictionary({ templates: [], choices: [], synchronizers: [], implementations: [] });
}

function decodeOrError<T>(decode: () => T): T {
  const value = decode();
  outcome.decoded += 1;
  return value;
}

function decodeOne(recipe: Recipe): void {
  const frame = frames[recipe.frame];
  if (frame === undefined) throw new Error('no such frame');
  const text = damageText(frame.text, recipe);
  outcome.bytes += text.length;
  const start = performance.now();
  const cpuBefore = process.cpuUsage();
  try {
    const batch = new Batch(rows, dictionary, 1, 0);
    if (frame.stream === 'updates') batch.add(decodeOrError(() => decodeUpdate(text)));
    else batch.addEntry(decodeOrError(() => decodeActiveContract(text)));
    batch.seal();
    outcome.stored += 1;
  } catch (error) {
    outcome.refused += 1;
    checkError(error);
  } finally {
    rows.clear();
  }
  const elapsedMs = performance.now() - start;
  outcome.slowestMs = Math.max(outcome.slowestMs, Math.round(elapsedMs));
  if (elapsedMs < limitMs) return;
  // Other processes may have used the processor meanwhile, so only the CPU time of this process counts.
  const { user, system } = process.cpuUsage(cpuBefore);
  if ((user + system) / 1_000 > limitMs) throw new Error(`one frame took ${Math.round(elapsedMs)} ms`);
}

/** Checks that an operator can use the error. */
function checkError(error: unknown): void {
  if (!(error instanceof IndexerError)) throw new Error(`not an IndexerError: ${String(error)}`, { cause: error });
  const { code, facts, message, remedy } = error;
  const location = facts['path'] ?? facts['table'];
  if (!refusalCodes.has(code) || typeof location !== 'string' || location === '' || !remedy) {
    throw new Error(`a refusal without code, path or remedy: ${code} ${message}`, { cause: error });
  }
  if (message.length > 500) throw new Error(`a refusal of ${message.length} characters`);
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const text = `${cause.message} ${JSON.stringify(cause instanceof IndexerError ? cause.facts : {})}`;
    if (text.includes(canary)) throw new Error(`contents in a refusal: ${text.slice(0, 200)}`);
  }
  refusals.set(code, (refusals.get(code) ?? 0) + 1);
}

it(`the decoder decodes or rejects each of ${frameCount} damaged frames`, { timeout: 60_000 + frameCount * 10 }, () => {
  const start = performance.now();
  let runs = 0;
  expectProperty(
    fc.property(recipes(frames.length), (recipe) => {
      decodeOne(recipe);
      runs += 1;
      if (runs % 1_000 !== 0) return;
      dictionary = emptyDictionary();
      if (shapeOf() !== originalShape) throw new Error('a prototype was changed');
    }),
    frameCount,
  );
  const seconds = (performance.now() - start) / 1_000;
  expect(shapeOf()).toBe(originalShape);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  // The test would prove nothing if the decoder detected the damage always or never.
  expect(outcome.decoded).toBeGreaterThan(frameCount / 20);
  expect(outcome.refused).toBeGreaterThan(frameCount / 20);
  const figures = {
    frames: frameCount,
    seed,
    kinds: frames.length,
    ...outcome,
    refusals: Object.fromEntries(refusals),
    seconds: Number(seconds.toFixed(1)),
    framesPerSecond: Math.round(frameCount / seconds),
  };
  process.stdout.write(`fuzz: ${JSON.stringify(figures)}\n`);
  const file = process.env['FUZZ_JSON'];
  if (file !== undefined && file !== '') writeFileSync(file, `${JSON.stringify(figures)}\n`);
});
