/**
 * The reader returns the elements of an array unchanged, for any division of the bytes into chunks. It rejects any
 * other text.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonArrayElements } from '../../../src/ledger/transport/json-array.ts';
import { expectProperty } from '../../support/chance/property.ts';

const limit = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes in chunks of the given lengths, which are repeated. */
async function* splitBytes(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  for (let position = 0, round = 0; position < bytes.length; round += 1) {
    const length = lengths[round % lengths.length] ?? 1;
    yield await Promise.resolve(bytes.subarray(position, position + length));
    position += length;
  }
}

async function elements(text: string | Buffer, lengths: readonly number[] = [7], max = limit): Promise<string[]> {
  const parsedElements: string[] = [];
  for await (const element of jsonArrayElements(splitBytes(Buffer.from(text), lengths), max))
    parsedElements.push(element);
  return parsedElements;
}

const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

describe('jsonArrayElements()', () => {
  it('returns the elements of JSON.parse for any array, whitespace and chunk size', async () => {
    await expectProperty(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ stringUnit: 'binary' })),
        fc.constantFrom(undefined, 1, '\t'),
        lengths,
        async (values, indent, chunkLengths) => {
          const text = JSON.stringify(values, null, indent);
          const parsedElements = await elements(text, chunkLengths);
          expect(parsedElements.map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(text));
        },
      ),
      500,
    );
  });

  it('keeps escapes, brackets in strings and multibyte characters in one-byte chunks', async () => {
    const expected = [String.raw`{"a":"]},[\"\\"}`, '"€ 😀 \\\\"', '9007199254740993', '1.10', '[[],{}]', '""'];
    expect(await elements(` [ ${expected.join(' ,\n')} ]\r\n`, [1])).toEqual(expected);
    expect(await elements('[]', [1])).toEqual([]);
    expect(await elements(' [ \n ] ', [1])).toEqual([]);
  });

  it.each(['[', '[{"a":1}', '[{"a":1},', '["a', '["a\\"', '[1', '[1,2'])(
    'rejects the truncated array %s',
    async (text) => {
      await expect(elements(text)).rejects.toMatchObject({ code: 'LEDGER_UNDECODABLE', retry: 'retry' });
    },
  );

  it.each(['[1]x', '[1]]', '[1][', '[]{}', '[,]', '[1,]', '[1,,2]', '[,1]', '[}]', '[1]\u00a0'])(
    'rejects the invalid array %s',
    async (text) => {
      await expect(elements(text, [1])).rejects.toMatchObject({ code: 'LEDGER_UNDECODABLE' });
    },
  );

  it.each(['', '  ', '{"code":"NA"}', '<html>', 'null', '"[1]"'])(
    'reports %j as a response that is not from a ledger',
    async (text) => {
      await expect(elements(text)).rejects.toMatchObject({ code: 'LEDGER_NOT_A_LEDGER' });
    },
  );

  it('accepts a byte order mark, also split between chunks, but not an incomplete one', async () => {
    for (const cuts of [[1], [2], [3], [1, 2], [2, 1], [40]]) {
      expect(await elements('\uFEFF[1,2]', cuts), String(cuts)).toEqual(['1', '2']);
      await expect(elements(Buffer.from('\uFEFF[1]').subarray(1), cuts)).rejects.toThrow('other content');
    }
    for (const part of [1, 2, 3]) {
      await expect(elements(Buffer.from('\uFEFF').subarray(0, part), [1])).rejects.toThrow('other content');
    }
  });

  it('rejects invalid UTF-8', async () => {
    const text = Buffer.concat([Buffer.from('["'), Buffer.from([0xc3, 0x28]), Buffer.from('"]')]);
    await expect(elements(text)).rejects.toMatchObject({ code: 'LEDGER_UNDECODABLE' });
  });

  it('returns the elements before the damage, then reports the damage', async () => {
    const found: string[] = [];
    const read = async (): Promise<void> => {
      for await (const element of jsonArrayElements(splitBytes(Buffer.from('[1,2,{"a"'), [100]), limit))
        found.push(element);
    };
    await expect(read()).rejects.toThrow(/ends after 2 elements/u);
    expect(found).toEqual(['1', '2']);
  });

  it('rejects an element above the maximum size before the element is complete', async () => {
    expect(await elements(`["${'x'.repeat(98)}","${'y'.repeat(98)}"]`, [7], 100)).toHaveLength(2);
    await expect(elements(`["${'x'.repeat(200)}`, [7], 100)).rejects.toMatchObject({ code: 'LEDGER_FRAME_TOO_LARGE' });
  });

  it('reads 50 MB in bounded memory, and requests the next chunk only when needed', async () => {
    const element = `{"text":"${'ü'.repeat(500)}"}`;
    const chunk = Buffer.from(`${element},`.repeat(64));
    const chunks = Math.ceil(50_000_000 / chunk.length);
    let requestedChunks = 0;
    async function* source(): AsyncGenerator<Buffer> {
      yield Buffer.from('[');
      for (; requestedChunks < chunks; requestedChunks += 1) yield await Promise.resolve(Buffer.from(chunk));
      yield Buffer.from(`${element}]`);
    }
    let count = 0;
    let highest = 0;
    const before = memoryInUse();
    for await (const text of jsonArrayElements(source(), limit)) {
      if (text !== element) throw new Error('an element was altered');
      expect(requestedChunks).toBeLessThanOrEqual(Math.floor(count / 64) + 1);
      count += 1;
      if (count % 5_000 === 0) highest = Math.max(highest, memoryInUse() - before);
    }
    expect(count).toBe(chunks * 64 + 1);
    expect(highest).toBeLessThan(20_000_000);
  });
});

/** Bytes in use after a garbage collection, because the amount of garbage depends on the version of the engine. */
function memoryInUse(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
